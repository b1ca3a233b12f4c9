package wire_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

var genSize = rapid.SampledFrom([]int{1, 64, 200, 1000, 0})

// A change, merged or not, gives the same whether it is applied where it was made or has travelled (WIRE-1; of SNAP-3 that the
// transport leaves no trace in a digest).
func TestWIRE1_SNAP3_Transport(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := genState.Draw(rt, "a")
		rd, gd := genRevisionDelta(rt), genGenerationDelta(rt)
		re, ge := genRevisionDelta(rt), genGenerationDelta(rt)
		want := a.apply(rd, gd, 2).apply(re, ge, 3)
		u := wire.Update{
			ID: 3, Scope: fleetv1.Scope_SCOPE_CHANGES, From: a.marks(), To: want.marks(), Revision: rd.Merge(re), Generation: gd.Merge(ge),
			Seen: time.Unix(1_700_000_000, 123_456_789).UTC(),
		}
		got := travel(rt, u, genSize.Draw(rt, "size"))
		if got.ID != u.ID || got.Scope != u.Scope || got.From != u.From || got.To != u.To || !got.Seen.Equal(u.Seen) {
			rt.Fatalf("sent %+v, got %+v", u, got)
		}
		rev, gen, err := got.Apply(a.rev, a.gen)
		if err != nil {
			rt.Fatal(err)
		}
		same(rt, state{rev, gen}, want)
		for x := range want.gen.All() {
			if v := gen.Table(x.Backend).Version; v != x.Version {
				rt.Fatalf("the table of %s came with version %s, want %s", x.Backend, v, x.Version)
			}
		}
	})
}

func same(t rapid.TB, got, want state) {
	t.Helper()
	if g, w := got.text(), want.text(); g != w {
		t.Fatalf("got\n%s\nwant\n%s", g, w)
	}
	if !got.marks().Same(want.marks()) {
		t.Fatalf("same content, other digests: %v and %v", got.marks(), want.marks())
	}
}

func TestWIRE1_Everything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := genState.Draw(rt, "held"), genState.Draw(rt, "wanted")
		u := wire.Everything(b.rev, b.gen)
		rev, gen, err := travel(rt, u, genSize.Draw(rt, "size")).Apply(a.rev, a.gen)
		if err != nil {
			rt.Fatal(err)
		}
		same(rt, state{rev, gen}, b)
		if rev, gen, err = travel(rt, wire.Everything(nil, b.gen), 0).Apply(a.rev, a.gen); err != nil || rev != a.rev {
			rt.Fatalf("a generation alone touched the revision (%v)", err)
		}
		same(rt, state{rev, gen}, state{a.rev, b.gen})
	})
}

func TestWIRE1_Buckets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := genState.Draw(rt, "held"), genState.Draw(rt, "wanted")
		ask := &fleetv1.AskBuckets{Revision: true, Generation: rapid.Bool().Draw(rt, "generation")}
		u, err := wire.Replace(wire.Buckets(ask, a.rev, a.gen), b.rev, b.gen)
		if err != nil {
			rt.Fatal(err)
		}
		rev, gen, err := travel(rt, u, genSize.Draw(rt, "size")).Apply(a.rev, a.gen)
		if err != nil {
			rt.Fatal(err)
		}
		want := b
		if !ask.Generation {
			want.gen = a.gen
		}
		same(rt, state{rev, gen}, want)
	})
}

// A clock that does not change is in no frame, whatever the sender had in its marks.
func TestWIRE1_OneClock(t *testing.T) {
	b := sample()
	u := changes(nothing, b)
	u.To.Revision, u.Revision = wire.Mark{}, snapshot.RevisionDelta{}
	u.From.Revision = wire.Mark{Version: snapshot.Version{Epoch: 1, Number: 1}}
	frames, err := wire.Frames(u, 0)
	if err != nil || frames[0].GetTo().GetRevision() != nil || frames[0].GetFrom().GetRevision() != nil {
		t.Fatalf("the revision is in %v (%v)", frames, err)
	}
	rev, gen, err := travel(t, u, 0).Apply(b.rev, nothing.gen)
	if err != nil {
		t.Fatal(err)
	}
	same(t, state{rev, gen}, b)
}

// sample is a state with a table of 40 slots, a map of 40 entries and one of everything else.
func sample() state {
	rd := snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{}}
	put := func(r snapshot.Resource) { rd.Changes[r.Key()] = r }
	pem := []byte("chain and key")
	put(&snapshot.Section{Type: "global"})
	put(&snapshot.Section{Type: "frontend", Name: "web from berth", Lines: []snapshot.Line{{"mode", "http"}}})
	put(&snapshot.Backend{Name: "b", Defaults: "berth", ServerOptions: []string{"check"}})
	put(&snapshot.Map{Name: "hosts"})
	put(&snapshot.Certificate{Name: "shop/tls", ServerNames: []string{"x.example.com"}, Content: snapshot.PEMDigest(pem), PEM: pem})
	slots := make([]snapshot.Slot, 40)
	for i := range slots {
		put(&snapshot.MapEntry{Map: "hosts", Name: strings.Repeat("k", i+1), Value: "v"})
		slots[i] = snapshot.Slot{Since: uint64(i) + 1}
	}
	d, _ := snapshot.DiffTables(nil, &snapshot.Table{Backend: "b", Version: snapshot.Version{Epoch: 1, Number: 1}, Slots: slots})
	return nothing.apply(rd, snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{"b": d}}, 1)
}

// A frame keeps to its size unless one resource alone is larger, and a large table or map is cut.
func TestFramesAreOfTheirSize(t *testing.T) {
	u := wire.Everything(sample().rev, sample().gen)
	for _, size := range []int{100, 300, 1000, 4000} {
		frames, err := wire.Frames(u, size)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range frames {
			if n := protoSize(f); n > size && i > 0 && size >= 300 {
				t.Errorf("frame %d of %d has %d bytes, want at most %d", i, len(frames), n, size)
			}
			if f.GetLast() != (i == len(frames)-1) || f.GetFrame() != uint32(i) {
				t.Errorf("frame %d of %d calls itself %d, last: %v", i, len(frames), f.GetFrame(), f.GetLast())
			}
		}
		if least := protoSize(frames...) / size; len(frames) > 3*least+4 {
			t.Errorf("%d frames of %d bytes for %d bytes", len(frames), size, protoSize(frames...))
		}
	}
}

// WIRE-3: what does not start from what is held, or does not lead where it says, changes nothing.
func TestWIRE3_Mismatch(t *testing.T) {
	b := sample()
	u := changes(nothing, b)
	for name, c := range map[string]struct {
		change func(*wire.Update)
		held   state
		want   fleetv1.Code
		object string
	}{
		"base of the revision":     {func(*wire.Update) {}, state{b.rev, nothing.gen}, fleetv1.Code_CODE_BASE_MISMATCH, "revision"},
		"base of the generation":   {func(*wire.Update) {}, state{nothing.rev, b.gen}, fleetv1.Code_CODE_BASE_MISMATCH, "generation"},
		"result of the revision":   {func(u *wire.Update) { u.To.Revision.Digest[0]++ }, nothing, fleetv1.Code_CODE_DIGEST_MISMATCH, "revision"},
		"result of the generation": {func(u *wire.Update) { u.To.Generation.Digest[31]++ }, nothing, fleetv1.Code_CODE_DIGEST_MISMATCH, "generation"},
		"one slot is lost": {func(u *wire.Update) {
			delete(u.Generation.Tables["b"].Slots, 5)
		}, nothing, fleetv1.Code_CODE_DIGEST_MISMATCH, "generation"},
	} {
		t.Run(name, func(t *testing.T) {
			v := travel(t, u, 0)
			c.change(&v)
			rev, gen, err := v.Apply(c.held.rev, c.held.gen)
			var e *wire.Error
			if !errors.As(err, &e) || wire.CodeOf(err) != c.want || e.Object != c.object || rev != nil || gen != nil {
				t.Fatalf("got %v, %v, %v; want %s for the %s", rev, gen, err, c.want, c.object)
			}
		})
	}
	if wire.CodeOf(nil) != fleetv1.Code_CODE_OK || wire.CodeOf(errors.New("x")) != fleetv1.Code_CODE_INTERNAL {
		t.Error("the codes of no error and of another's")
	}
}

func TestMarks(t *testing.T) {
	m := sample().marks()
	m.Generation.Version.Epoch = 4
	got, err := wire.MarksFrom(m.Proto())
	if err != nil || got != m || m.Epoch() != 4 {
		t.Fatalf("sent %v, got %v (%v)", m, got, err)
	}
	if got, err := wire.MarksFrom(nil); err != nil || got != (wire.Marks{}) {
		t.Fatalf("no marks are %v (%v)", got, err)
	}
	if _, err := wire.MarksFrom(&fleetv1.Marks{Generation: &fleetv1.Mark{Digest: make([]byte, 31)}}); wire.CodeOf(err) != fleetv1.Code_CODE_INVALID {
		t.Fatalf("a digest of 31 bytes: %v", err)
	}
	moved := m
	moved.Revision.Version.Number++
	if !m.Same(moved) || m.Same(nothing.marks()) {
		t.Error("marks are the same by their digests, not by their versions")
	}
}

// The plane asks for buckets and sends a few of 256 where a few differ.
func TestReplaceSendsWhatDiffers(t *testing.T) {
	a := sample()
	b := a.apply(snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{snapshot.EntryKey("hosts", "k"): nil}}, snapshot.GenerationDelta{}, 2)
	u, err := wire.Replace(wire.Buckets(&fleetv1.AskBuckets{Revision: true, Generation: true}, a.rev, a.gen), b.rev, b.gen)
	if err != nil || len(u.RevisionBuckets) != 1 || len(u.GenerationBuckets) != 0 || len(u.Revision.Changes) > 4 {
		t.Fatalf("buckets %v and %v, %d resources (%v)", u.RevisionBuckets, u.GenerationBuckets, len(u.Revision.Changes), err)
	}
	if _, err := wire.Replace(&fleetv1.Buckets{Revision: make([]byte, 8191)}, b.rev, b.gen); wire.CodeOf(err) != fleetv1.Code_CODE_INVALID {
		t.Fatalf("8,191 bytes of buckets: %v", err)
	}
	if !slices.IsSorted(u.RevisionBuckets) {
		t.Error("the buckets are not sorted")
	}
}
