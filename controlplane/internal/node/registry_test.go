package node

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// clock is a time that a test moves.
type clock struct{ now time.Time }

func newClock() *clock                   { return &clock{time.Unix(1000, 0)} }
func (c *clock) read() time.Time         { return c.now }
func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }

func mark(number uint64, content string) wire.Mark {
	return wire.Mark{Version: snapshot.Version{Epoch: 1, Number: number}, Digest: snapshot.PEMDigest([]byte(content))}
}

func both(number uint64, rev, gen string) wire.Marks {
	return wire.Marks{Revision: mark(number, "r"+rev), Generation: mark(number, "g"+gen)}
}

func hello(node string, held, applied wire.Marks) *fleetv1.Hello {
	return &fleetv1.Hello{Fleet: "edge", Node: node, Held: held.Proto(), Applied: applied.Proto(), Haproxy: &fleetv1.HAProxy{Version: "3.4.7"}}
}

func see(t *testing.T, r *Registry, name string) View {
	t.Helper()
	v, ok := r.Get(Key{"edge", name})
	if !ok {
		t.Fatalf("node %s is not known", name)
	}
	return v
}

func TestNODE1OnlyAppliedCounts(t *testing.T) {
	old, newest := both(1, "1", "1"), both(2, "2", "2")
	r := New(newClock().read)
	s := r.Connect(hello("a", old, old), "10.0.0.1:5")
	expect := func(what string, state State, lag uint64) {
		t.Helper()
		v := see(t, r, "a")
		if got := v.State(newest); got != state || v.Lag(newest.Generation) != lag {
			t.Errorf("%s: state %d lag %d, want %d and %d", what, got, v.Lag(newest.Generation), state, lag)
		}
	}
	expect("connected", Behind, 1)
	s.Received(&fleetv1.Received{Code: fleetv1.Code_CODE_OK, Held: newest.Proto()})
	expect("received", Behind, 1)
	s.Applied(&fleetv1.Applied{Applied: wire.Marks{Revision: old.Revision, Generation: newest.Generation}.Proto()}, 0)
	expect("one clock applied", Behind, 0)
	s.Applied(&fleetv1.Applied{Applied: newest.Proto(), Worker: &fleetv1.Worker{Pid: 7}}, 30*time.Millisecond)
	expect("applied", Current, 0)
	if v := see(t, r, "a"); v.WorkerPID != 7 || v.Latency != 30*time.Millisecond || v.Held != newest {
		t.Errorf("after Applied: %+v", v)
	}
	s.Observed(&fleetv1.Observed{Dirty: true, Drifts: 1, Reloads: 3})
	expect("dirty", Behind, 0)
	s.Applied(&fleetv1.Applied{Applied: newest.Proto()}, 0)
	expect("repaired", Current, 0)
	s.Close()
	expect("gone", Disconnected, 0)
	h := hello("a", newest, newest)
	h.Dirty = true
	r.Connect(h, "")
	expect("back, dirty", Behind, 0)
}

func TestStates(t *testing.T) {
	newest := both(2, "2", "2")
	r := New(newClock().read)
	s := r.Connect(hello("a", wire.Marks{}, wire.Marks{}), "")
	expect := func(what string, want State) {
		t.Helper()
		if got := see(t, r, "a").State(newest); got != want {
			t.Errorf("%s: state %d, want %d", what, got, want)
		}
	}
	s.Wait(Problem{fleetv1.Code_CODE_FROZEN, "source b has not listed"})
	expect("told to wait", Waiting)
	s.Wait(Problem{})
	expect("no longer", Behind)
	s.Failed(&fleetv1.Failed{Wanted: newest.Proto(), Code: fleetv1.Code_CODE_BIND, Message: "port 80 is taken"})
	expect("failed", Failed)
	part := wire.Marks{Generation: newest.Generation}
	s.Applied(&fleetv1.Applied{Applied: part.Proto()}, 0)
	expect("what failed is still wanted", Failed)
	s.Applied(&fleetv1.Applied{Applied: newest.Proto()}, 0)
	expect("overcome", Current)
	s.Rejected(&fleetv1.Rejected{Revision: both(1, "1", "1").Revision.Proto(), Code: fleetv1.Code_CODE_CONFIG_REFUSED})
	expect("an old revision was refused", Current)
	s.Rejected(&fleetv1.Rejected{Revision: newest.Revision.Proto(), Code: fleetv1.Code_CODE_CONFIG_REFUSED, Message: "line 3"})
	expect("the newest was refused", Rejected)
	if p, _ := see(t, r, "a").Rejected(newest.Revision.Digest); p.Message != "line 3" {
		t.Errorf("refused because of %+v", p)
	}
	h := hello("a", wire.Marks{}, wire.Marks{})
	h.Rejected = []*fleetv1.RejectedRevision{{Digest: newest.Revision.Digest[:], Code: fleetv1.Code_CODE_CONFIG_REFUSED}}
	r.Connect(h, "")
	expect("said again in a Hello", Rejected)
	r.Connect(hello("a", wire.Marks{}, wire.Marks{}), "")
	expect("another HAProxy, which has refused nothing", Behind)
}

func TestALongListOfRejectedRevisionsForgetsTheOldest(t *testing.T) {
	r := New(newClock().read)
	s := r.Connect(hello("a", wire.Marks{}, wire.Marks{}), "")
	for i := range wire.MaxRejected + 1 {
		m := mark(uint64(i), string(rune(i)))
		s.Rejected(&fleetv1.Rejected{Revision: m.Proto(), Code: fleetv1.Code_CODE_CONFIG_REFUSED})
	}
	v := see(t, r, "a")
	if _, first := v.Rejected(mark(0, string(rune(0))).Digest); first || len(v.rejected) != wire.MaxRejected {
		t.Errorf("%d are remembered, the first of them: %v", len(v.rejected), first)
	}
}

func TestNODE2TheNewestStreamSpeaks(t *testing.T) {
	m := both(1, "1", "1")
	r := New(newClock().read)
	first := r.Connect(hello("a", wire.Marks{}, wire.Marks{}), "first")
	second := r.Connect(hello("a", m, m), "second")
	select {
	case <-first.Replaced():
	default:
		t.Fatal("the first stream is not told")
	}
	before := see(t, r, "a")
	first.Applied(&fleetv1.Applied{}, 0)
	first.Failed(&fleetv1.Failed{Code: fleetv1.Code_CODE_DISK})
	first.Close()
	if after := see(t, r, "a"); after.Sequence != before.Sequence || after.Address != "second" || !after.Connected {
		t.Errorf("the first stream changed the record: %+v", after)
	}
	select {
	case <-second.Replaced():
		t.Error("the second stream is told that it was replaced")
	default:
	}
}

func TestNODE3ReadersFindEveryChange(t *testing.T) {
	const nodes, changes = 8, 200
	r := New(time.Now)
	var wg sync.WaitGroup
	for n := range nodes {
		wg.Go(func() {
			s := r.Connect(hello(string(rune('a'+n)), wire.Marks{}, wire.Marks{}), "")
			for i := range changes {
				s.Observed(&fleetv1.Observed{Reloads: uint64(i + 1)})
			}
		})
	}
	last := map[Key]View{}
	for done := 0; done < nodes; {
		changed := r.Changed()
		done = 0
		for _, v := range r.List("edge") {
			old := last[v.Key]
			if v.Sequence < old.Sequence || v.Reloads < old.Reloads || (v.Sequence == old.Sequence) != (v.Reloads == old.Reloads && v.Connected == old.Connected) {
				t.Fatalf("%+v after %+v", v, old)
			}
			last[v.Key] = v
			if v.Reloads == changes {
				done++
			}
		}
		if done < nodes {
			<-changed
		}
	}
	wg.Wait()
	changed := r.Changed()
	s := r.Connect(hello("a", wire.Marks{}, wire.Marks{}), "")
	<-changed
	changed = r.Changed()
	s.Heard()
	select {
	case <-changed:
		t.Error("a message that changes nothing woke the readers")
	default:
	}
}

func TestNODE4RevisionsInUse(t *testing.T) {
	c := newClock()
	r := New(c.read)
	one, two := both(1, "1", "1"), both(2, "2", "2")
	r.Connect(hello("none", wire.Marks{}, wire.Marks{}), "")
	s := r.Connect(hello("a", two, one), "")
	b := r.Connect(hello("b", one, one), "")
	other := hello("c", both(3, "3", "3"), wire.Marks{})
	other.Fleet = "core"
	r.Connect(other, "")
	inUse := func() []uint64 {
		var numbers []uint64
		for _, m := range r.InUse("edge") {
			numbers = append(numbers, m.Version.Number)
		}
		slices.Sort(numbers)
		return numbers
	}
	if got := inUse(); !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("one node runs 1 and holds 2, another runs 1: %v", got)
	}
	s.Applied(&fleetv1.Applied{Applied: two.Proto()}, 0)
	b.Close()
	c.advance(Retention)
	if got := inUse(); !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("the node with 1 is away for less than Retention: %v", got)
	}
	c.advance(time.Minute)
	if got := inUse(); !slices.Equal(got, []uint64{2}) {
		t.Errorf("the node with 1 is away for more than Retention: %v", got)
	}
	r.Connect(hello("d", two, two), "")
	if _, ok := r.Get(Key{"edge", "b"}); ok || len(r.List("")) != 4 {
		t.Errorf("a node that is away for long is listed: %d nodes", len(r.List("")))
	}
}

func TestNODE4TooManyThatAreAway(t *testing.T) {
	c := newClock()
	r := New(c.read)
	connected := r.Connect(hello("first", wire.Marks{}, both(1, "1", "1")), "")
	for n := range MaxAway + 10 {
		r.Connect(hello(fmt.Sprint(n), wire.Marks{}, both(2, "2", "2")), "").Close()
		c.advance(time.Millisecond)
	}
	c.advance(time.Minute)
	if marks := r.InUse("edge"); len(marks) != 2 {
		t.Errorf("in use are %v", marks)
	}
	_, oldest := r.Get(Key{"edge", "9"})
	_, next := r.Get(Key{"edge", "10"})
	if n := len(r.List("")); n != MaxAway+1 || oldest || !next {
		t.Errorf("%d nodes are remembered, the tenth of them: %v, the eleventh: %v", n, oldest, next)
	}
	connected.Heard()
	if v := see(t, r, "first"); !v.Connected {
		t.Error("a connected node was forgotten")
	}
}

// What is counted as nodes tell is what looking at all of them would find.
func TestNODE4CountsAreThoseOfTheNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		r := New(c.read)
		sessions := map[string]*Session{}
		some := rapid.Custom(func(t *rapid.T) wire.Marks {
			n := rapid.Uint64Range(0, 3).Draw(t, "number")
			if n == 0 {
				return wire.Marks{}
			}
			return both(n, fmt.Sprint(n), "1")
		})
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "node")
			s := sessions[name]
			switch rapid.SampledFrom([]string{"connect", "received", "applied", "close", "wait"}).Draw(t, "what") {
			case "connect":
				sessions[name] = r.Connect(hello(name, some.Draw(t, "held"), some.Draw(t, "applied")), "")
			case "received":
				if s != nil {
					s.Received(&fleetv1.Received{Held: some.Draw(t, "held").Proto()})
				}
			case "applied":
				if s != nil {
					s.Applied(&fleetv1.Applied{Applied: some.Draw(t, "applied").Proto()}, 0)
				}
			case "close":
				if s != nil {
					s.Close()
				}
			case "wait":
				c.advance(Retention/2 + time.Minute)
			}
			got := r.InUse("edge")
			want := map[wire.Mark]struct{}{}
			for _, v := range r.List("edge") {
				want[v.Held.Revision], want[v.Applied.Revision] = struct{}{}, struct{}{}
			}
			delete(want, wire.Mark{})
			if len(got) != len(want) {
				t.Fatalf("in use are %v, want %v", got, want)
			}
			for _, m := range got {
				if _, ok := want[m]; !ok {
					t.Fatalf("%v is in use, but the nodes have %v", m, want)
				}
			}
		}
	})
}

func TestLag(t *testing.T) {
	v := func(number uint64, content string) View {
		return View{Applied: wire.Marks{Generation: mark(number, content)}}
	}
	newest := mark(7, "new")
	for _, c := range []struct {
		applied View
		want    uint64
	}{{v(7, "new"), 0}, {v(3, "new"), 0}, {v(5, "old"), 2}, {View{}, 7}, {v(7, "another plane's"), 7}, {v(900, "another plane's"), 7}} {
		if got := c.applied.Lag(newest); got != c.want {
			t.Errorf("%+v: lag %d, want %d", c.applied.Applied.Generation, got, c.want)
		}
	}
}
