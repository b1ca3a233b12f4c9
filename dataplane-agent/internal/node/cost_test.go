package node_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/haproxytest"
	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// fleet is a node with many backends of four slots, on which nothing happens but what the test does.
func fleet(tb testing.TB, backends int) (*machine, *agent, *state) {
	tb.Helper()
	// The old version shows a change as soon as it has answered; the new one is read again now and then, which is counted and depends on the machine's load.
	m := newMachine(tb, haproxytest.Needed(tb, "old"))
	m.cfg.Watch, m.cfg.RefreshFiles, m.cfg.Verify = time.Hour, time.Hour, time.Hour
	a := m.start()
	s := newState()
	var all []any
	d := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{}}
	for i := range backends {
		all = append(all, backend(fmt.Sprint("b", i)))
		d.Tables[fmt.Sprint("b", i)] = snapshot.TableDelta{Length: 4, Slots: map[int]snapshot.Slot{0: {State: snapshot.Ready, Address: place, Port: 1, Weight: 100, Endpoint: "e"}}}
	}
	s.change(all...)
	s.gen = s.gen.Apply(d, s.gen.Version.Next(1))
	a.must(wire.Everything(s.rev, s.gen))
	a.applied(s)
	return m, a, s
}

// moves are updates of one slot each: the address of a ready one.
func (s *state) moves(n int) []wire.Update {
	out := make([]wire.Update, n)
	for i := range out {
		out[i] = s.slots("b7", i%30000+1, 0, 0, 0)
	}
	return out
}

// apply delivers an update and waits for its Applied.
func (a *agent) apply(u wire.Update) {
	if r, err := a.Deliver(context.Background(), u); err != nil || r.GetCode() != fleetv1.Code_CODE_OK {
		a.t.Fatalf("delivered: %v, %v", r, err)
	}
	timeout := time.After(20 * time.Second)
	for {
		select {
		case <-a.box.Wake():
		case <-timeout:
			a.t.Fatalf("generation %s is not applied within 20 s; the node says %v and %v", u.To.Generation.Version, a.Hello(), a.failed())
		}
		if x := a.box.Take().Applied; x.GetApplied().GetGeneration().GetVersion().GetNumber() == u.To.Generation.Version.Number {
			return
		}
	}
}

// written is the size of the journal once it rests.
func (m *machine) written() float64 {
	m.t.Helper()
	size, since := int64(-1), time.Now()
	for deadline := time.Now().Add(20 * time.Second); time.Since(since) < 300*time.Millisecond; <-time.After(10 * time.Millisecond) {
		info, err := os.Stat(m.socket("journal/log"))
		if err == nil && info.Size() != size {
			size, since = info.Size(), time.Now()
		}
		if time.Now().After(deadline) {
			m.t.Fatal("the journal does not come to rest")
		}
	}
	return float64(size)
}

// growth returns a function that waits, without allocating, until the journal has grown.
func (m *machine) growth() func() {
	m.t.Helper()
	f, err := os.Open(m.socket("journal/log"))
	if err != nil {
		m.t.Fatal(err)
	}
	ticks := time.NewTicker(500 * time.Microsecond)
	m.t.Cleanup(func() { ticks.Stop(); _ = f.Close() })
	var now syscall.Stat_t
	size := func() int64 {
		if err := syscall.Fstat(int(f.Fd()), &now); err != nil {
			m.t.Fatal(err)
		}
		return now.Size
	}
	before := size()
	return func() {
		for left := 40000; ; left-- {
			if s := size(); s > before {
				before = s
				return
			}
			if <-ticks.C; left == 0 {
				m.t.Fatal("the journal has not grown for 20 s")
			}
		}
	}
}

// P8: one slot in a fleet of ten thousand backends costs the node what it costs in a fleet of ten, its journal's record included. It runs alone, as it counts.
func TestOneSlotCostsTheSameInAFleetOfAnySize(t *testing.T) {
	type cost struct{ allocs, bytes, journal float64 }
	measure := func(backends int) cost {
		m, a, s := fleet(t, backends)
		defer a.stop()
		journal := m.written()
		grows := m.growth()
		const changes = 50
		best := cost{math.Inf(1), math.Inf(1), 0} // HAProxy is asked once more where it shows a change late, which depends on the machine's load
		const rounds = 6
		for range rounds {
			moves := s.moves(changes)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for _, u := range moves {
				a.apply(u)
				grows() // so that the journal writes each change by itself, however long HAProxy and the disk take
			}
			runtime.ReadMemStats(&after)
			best.allocs = min(best.allocs, float64(after.Mallocs-before.Mallocs)/changes)
			best.bytes = min(best.bytes, float64(after.TotalAlloc-before.TotalAlloc)/changes)
		}
		best.journal = (m.written() - journal) / (rounds * changes)
		return best
	}
	small, large := measure(10), measure(10000)
	t.Logf("one slot of 10 backends: %.0f allocations, %.0f bytes, %.0f in the journal; of 10,000: %.0f, %.0f and %.0f",
		small.allocs, small.bytes, small.journal, large.allocs, large.bytes, large.journal)
	if large.allocs > 1.2*small.allocs || large.bytes > 1.2*small.bytes || large.journal > 1.2*small.journal || small.journal <= 0 {
		t.Error("the cost grows with the fleet")
	}
}

// BenchmarkOneSlot is the time from an update to Applied, beside the floor: the least that a worker can be asked for the same, a command and a reading.
func BenchmarkOneSlot(b *testing.B) {
	for _, backends := range []int{10, 10000} {
		b.Run(fmt.Sprint(backends, "-backends"), func(b *testing.B) {
			m, a, s := fleet(b, backends)
			defer a.stop()
			moves := s.moves(b.N)
			times := make([]time.Duration, 0, b.N)
			b.ResetTimer()
			for _, u := range moves {
				began := time.Now()
				a.apply(u)
				times = append(times, time.Since(began))
			}
			b.StopTimer()
			floor := make([]time.Duration, 0, b.N)
			m.worker(func(r *haproxy.Runtime) {
				for i := range b.N {
					began := time.Now()
					for _, line := range []string{fmt.Sprintf("set server b7/s1 addr 127.0.0.1 port %d", i%30000+1), "show servers state b7"} {
						if _, err := r.Do(context.Background(), []string{line}); err != nil {
							b.Fatal(err)
						}
					}
					floor = append(floor, time.Since(began))
				}
			})
			slices.Sort(times)
			slices.Sort(floor)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
			b.ReportMetric(float64(floor[len(floor)/2].Microseconds()), "floor-p50-µs")
			b.ReportMetric(float64(floor[len(floor)*99/100].Microseconds()), "floor-p99-µs")
		})
	}
}
