package wire_test

import (
	"fmt"
	"net/netip"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// fleetOf is a generation of so many backends with ten slots each.
func fleetOf(backends int) *snapshot.Generation {
	d := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{}}
	for i := range backends {
		t := &snapshot.Table{Backend: fmt.Sprintf("shop_web-%05d_http", i), Slots: make([]snapshot.Slot, 10)}
		for j := range 7 {
			t.Slots[j] = pod(i*7 + j)
		}
		d.Tables[t.Backend], _ = snapshot.DiffTables(nil, t)
	}
	return snapshot.EmptyGeneration().Apply(d, snapshot.Version{Epoch: 1, Number: 1})
}

func pod(n int) snapshot.Slot {
	return snapshot.Slot{
		State: snapshot.Ready, Address: netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), Port: 8080, Weight: snapshot.DefaultWeight,
		Endpoint: fmt.Sprintf("shop/web-%06d", n),
	}
}

// moves is one pod moving, to and fro: on the plane from the delta to the shared bytes, on the node from the bytes to what it then holds.
type moves struct {
	plane, node *snapshot.Generation
	n           int
	bytes       int
}

func (m *moves) next(tb testing.TB, plane, node bool) {
	m.n++
	before := wire.MarksOf(nil, m.plane)
	d := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{
		"shop_web-00005_http": {Length: 10, Version: snapshot.Version{Epoch: 1, Number: 7}, Slots: map[int]snapshot.Slot{3: pod(m.n % 2)}},
	}}
	next := m.plane.Apply(d, snapshot.Version{Epoch: 1, Number: 7})
	u := wire.Update{Scope: fleetv1.Scope_SCOPE_CHANGES, From: before, To: wire.MarksOf(nil, next), Generation: d}
	if !plane {
		m.plane = next
		return
	}
	shared, err := wire.Share(u)
	if err != nil {
		tb.Fatal(err)
	}
	m.plane = next
	if !node {
		return
	}
	data, err := wire.Codec().Marshal(shared.Frame(0, 7))
	if err != nil {
		tb.Fatal(err)
	}
	m.bytes = data.Len()
	var p fleetv1.SyncResponse
	if err := wire.Codec().Unmarshal(data, &p); err != nil {
		tb.Fatal(err)
	}
	var a wire.Assembler
	got, complete, err := a.Add(p.GetUpdate())
	if err != nil || !complete {
		tb.Fatal(complete, err)
	}
	if _, m.node, err = got.Apply(nil, m.node); err != nil {
		tb.Fatal(err)
	}
}

// P8: one pod moving costs as good as the same in 10 backends and in 10,000.
func TestOneSlotCostsTheSame(t *testing.T) {
	type cost struct{ allocations, memory, bytes float64 }
	of := func(backends int) cost {
		g := fleetOf(backends)
		m := &moves{plane: g, node: g}
		r := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				m.next(b, true, true)
			}
		})
		return cost{float64(r.AllocsPerOp()), float64(r.AllocedBytesPerOp()), float64(m.bytes)}
	}
	few, many := of(10), of(10_000)
	t.Logf("10 backends: %+v; 10,000: %+v", few, many)
	for what, x := range map[string]struct{ few, many, factor float64 }{
		"allocations": {few.allocations, many.allocations, 1.2},
		"bytes":       {few.bytes, many.bytes, 1.2},
		"memory":      {few.memory, many.memory, 1.5}, // the way down to a table is two nodes longer
	} {
		if x.many > x.factor*x.few {
			t.Errorf("%s: %v in 10 backends, %v in 10,000", what, x.few, x.many)
		}
	}
}

func BenchmarkOneSlot(b *testing.B) {
	for _, backends := range []int{10, 10_000} {
		g := fleetOf(backends)
		for name, sides := range map[string][2]bool{"apply": {}, "share": {true, false}, "node": {true, true}} {
			b.Run(fmt.Sprintf("%s/backends=%d", name, backends), func(b *testing.B) {
				m := &moves{plane: g, node: g}
				b.ReportAllocs()
				for b.Loop() {
					m.next(b, sides[0], sides[1])
				}
			})
		}
	}
}

// BenchmarkFrame is what a further node costs when an update is encoded already.
func BenchmarkFrame(b *testing.B) {
	shared, err := wire.Share(wire.Everything(nil, fleetOf(1000)))
	if err != nil {
		b.Fatal(err)
	}
	codec := wire.Codec()
	b.SetBytes(int64(shared.Size()))
	b.ReportAllocs()
	for b.Loop() {
		for i := range shared.Len() {
			if _, err := codec.Marshal(shared.Frame(i, 7)); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkEverything is a node that comes with nothing to a fleet of 10,000 backends with ten slots each.
func BenchmarkEverything(b *testing.B) {
	u := wire.Everything(nil, fleetOf(10_000))
	b.Run("frames", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			shared, err := wire.Share(u)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(shared.Size()))
		}
	})
	frames, err := wire.Frames(u, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("apply", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var a wire.Assembler
			for _, f := range frames {
				g := proto.Clone(f).(*fleetv1.Update)
				got, complete, err := a.Add(g)
				if err != nil {
					b.Fatal(err)
				}
				if complete {
					if _, _, err := got.Apply(nil, snapshot.EmptyGeneration()); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
	})
}
