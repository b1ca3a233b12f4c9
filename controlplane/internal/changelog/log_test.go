package changelog

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// at is the n-th second of a clock that only tests have.
func at(n int) time.Time { return time.Unix(int64(n), 0).UTC() }

// state is what a node may hold.
type state struct {
	rev *snapshot.Revision
	gen *snapshot.Generation
}

func nothing() state { return state{snapshot.EmptyRevision(), snapshot.EmptyGeneration()} }

func (s state) marks() wire.Marks { return wire.MarksOf(s.rev, s.gen) }

func stateOf(h *Head) state { return state{h.Revision, h.Generation} }

// decode puts an update together again from the bytes that a stream would carry.
func decode(t rapid.TB, shared *wire.Shared) wire.Update {
	t.Helper()
	var a wire.Assembler
	for i := range shared.Len() {
		slices, err := wire.Codec().Marshal(shared.Frame(i, 7))
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		var m fleetv1.SyncResponse
		if err := proto.Unmarshal(slices.Materialize(), &m); err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		u, complete, err := a.Add(m.GetUpdate())
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		if complete {
			return u
		}
	}
	t.Fatalf("%d frames, and none is the last", shared.Len())
	return wire.Update{}
}

func slot(n int) snapshot.Slot {
	return snapshot.Slot{
		State: snapshot.Ready, Address: netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), Port: 80,
		Weight: 100, Endpoint: fmt.Sprintf("shop/pod-%d", n),
	}
}

func backendDelta(name, line string) snapshot.RevisionDelta {
	return snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{
		{Kind: snapshot.KindBackend, Name: name}: &snapshot.Backend{Name: name, Defaults: "berth", Lines: []snapshot.Line{{"balance", line}}},
	}}
}

func slotDelta(backend string, length, index int, s snapshot.Slot) snapshot.GenerationDelta {
	return snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{backend: {Length: length, Slots: map[int]snapshot.Slot{index: s}}}}
}

// anyRevisionDelta changes some of few backends, so that content comes back to what it was now and then.
func anyRevisionDelta(t *rapid.T) snapshot.RevisionDelta {
	d := snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{}}
	for range rapid.IntRange(0, 2).Draw(t, "resources") {
		name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "backend")
		d.Changes[snapshot.Key{Kind: snapshot.KindBackend, Name: name}] = nil
		if rapid.Bool().Draw(t, "stays") {
			d = d.Merge(backendDelta(name, rapid.SampledFrom([]string{"roundrobin", "leastconn"}).Draw(t, "line")))
		}
	}
	return d
}

func anyGenerationDelta(t *rapid.T) snapshot.GenerationDelta {
	d := snapshot.GenerationDelta{}
	for range rapid.IntRange(0, 2).Draw(t, "tables") {
		backend := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "backend")
		td := snapshot.TableDelta{Removed: true}
		if rapid.IntRange(0, 3).Draw(t, "stays") > 0 {
			length := rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "length")
			td = snapshot.TableDelta{Length: length, Reset: rapid.Bool().Draw(t, "reset"), Slots: map[int]snapshot.Slot{}}
			for range rapid.IntRange(0, 2).Draw(t, "slots") {
				s := snapshot.Slot{}
				if rapid.Bool().Draw(t, "taken") {
					s = slot(rapid.IntRange(1, 3).Draw(t, "pod"))
				}
				td.Slots[rapid.IntRange(0, length-1).Draw(t, "index")] = s
			}
		}
		d = d.Merge(snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{backend: td}})
	}
	return d
}

func TestLOG1SinceLeadsToTheHead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := New(Limits{Steps: rapid.IntRange(1, 30).Draw(t, "steps"), Items: rapid.IntRange(1, 60).Draw(t, "items")})
		states := []state{nothing()}
		for i := range rapid.IntRange(1, 20).Draw(t, "publications") {
			if rapid.IntRange(0, 6).Draw(t, "raises") == 0 {
				states = append(states, stateOf(l.RaiseEpoch(l.Head().Epoch+uint64(rapid.IntRange(0, 3).Draw(t, "by")))))
			}
			states = append(states, stateOf(l.Publish(anyRevisionDelta(t), anyGenerationDelta(t), at(i), at(i+1))))
		}
		// The two clocks of a node may come from different moments.
		held := state{
			states[rapid.IntRange(0, len(states)-1).Draw(t, "revision of")].rev,
			states[rapid.IntRange(0, len(states)-1).Draw(t, "generation of")].gen,
		}
		wantRevision := rapid.Bool().Draw(t, "wantRevision")
		head, shared, known, err := l.Since(held.marks(), wantRevision)
		if err != nil {
			t.Fatal(err)
		}
		want := stateOf(head)
		if !wantRevision {
			want.rev = held.rev
		}
		if !known {
			return
		}
		got := held
		if shared != nil {
			u := decode(t, shared)
			if got.rev, got.gen, err = u.Apply(held.rev, held.gen); err != nil {
				t.Fatalf("%v: %+v", err, u)
			}
			if u.ChangesRevision() && u.To.Revision != head.Marks().Revision || u.ChangesGeneration() && u.To.Generation != head.Marks().Generation {
				t.Fatalf("the update says that it leads to %+v, the head is %+v", u.To, head.Marks())
			}
		}
		if !got.marks().Same(want.marks()) {
			t.Fatalf("since leads to %+v, want %+v", got.marks(), want.marks())
		}
	})
}

// A log without need to forget knows every state that it ever had, and what is wanted of one clock does not hang on the other.
func TestLOG1EveryStateIsKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := New(Limits{})
		states := []state{nothing()}
		for i := range rapid.IntRange(1, 20).Draw(t, "publications") {
			states = append(states, stateOf(l.Publish(anyRevisionDelta(t), anyGenerationDelta(t), at(i), at(i+1))))
		}
		foreign := wire.Mark{Digest: snapshot.PEMDigest([]byte("another plane's"))}
		for i, s := range states {
			held := s.marks()
			if _, _, known, _ := l.Since(held, true); !known {
				t.Fatalf("state %d of %d is not known", i, len(states))
			}
			held.Revision = foreign
			if _, _, known, _ := l.Since(held, false); !known {
				t.Fatalf("the generation of state %d of %d is not known without the revision", i, len(states))
			}
			if _, _, known, _ := l.Since(held, true); known {
				t.Fatal("a revision that was never published is known")
			}
		}
	})
}

func TestLOG1SeenIsTheOldestOfTheChangesThatAreSent(t *testing.T) {
	l := New(Limits{})
	l.Publish(backendDelta("a", "roundrobin"), slotDelta("a", 4, 0, slot(1)), at(1), at(1))
	held := stateOf(l.Head())
	l.Publish(snapshot.RevisionDelta{}, slotDelta("a", 4, 1, slot(2)), at(12), at(13))
	l.Publish(backendDelta("a", "leastconn"), snapshot.GenerationDelta{}, at(11), at(14))
	l.RaiseEpoch(5)
	for _, c := range []struct {
		wantRevision bool
		want         time.Time
	}{{true, at(11)}, {false, at(12)}} {
		_, shared, _, _ := l.Since(held.marks(), c.wantRevision)
		if u := decode(t, shared); !u.Seen.Equal(c.want) {
			t.Errorf("with revision %v: seen %v, want %v", c.wantRevision, u.Seen, c.want)
		}
	}
}

func TestLOG2VersionsOnlyGrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := New(Limits{})
		for i := range rapid.IntRange(1, 20).Draw(t, "publications") {
			old := l.Head()
			if rapid.IntRange(0, 3).Draw(t, "raises") == 0 {
				above := uint64(rapid.IntRange(0, 9).Draw(t, "above"))
				h := l.RaiseEpoch(above)
				if h.Epoch <= above || h.Epoch < old.Epoch {
					t.Fatalf("epoch %d after %d was raised above %d", h.Epoch, old.Epoch, above)
				}
				old = h
			}
			h := l.Publish(anyRevisionDelta(t), anyGenerationDelta(t), at(i), at(i))
			check := func(clock string, was, is wire.Mark) {
				first := was.Version.IsZero()
				same := is.Digest == was.Digest && !first
				if want := was.Version.Next(old.Epoch); same && is.Version != was.Version || !same && is.Version != want {
					t.Fatalf("%s %v became %v", clock, was, is)
				}
			}
			check("revision", old.Marks().Revision, h.Marks().Revision)
			check("generation", old.Marks().Generation, h.Marks().Generation)
			for table := range h.Generation.All() {
				if table.Version.Compare(h.Generation.Version) > 0 {
					t.Fatalf("a table of %v in generation %v", table.Version, h.Generation.Version)
				}
			}
		}
	})
}

func TestLOG3ARaisedEpochSendsNothing(t *testing.T) {
	l := New(Limits{})
	if h := l.RaiseEpoch(3); h.Published() || h.Epoch != 4 {
		t.Fatalf("an empty log with a raised epoch: %+v", h)
	}
	first := l.Publish(backendDelta("a", "roundrobin"), slotDelta("a", 4, 0, slot(1)), at(1), at(1))
	if v := first.Revision.Version; v != (snapshot.Version{Epoch: 4, Number: 1}) {
		t.Fatalf("the first revision is %v", v)
	}
	raised := l.RaiseEpoch(9)
	if got, want := raised.Marks().Generation.Version, (snapshot.Version{Epoch: 10, Number: 1}); got != want {
		t.Errorf("the generation is %v, want %v", got, want)
	}
	select {
	case <-first.Superseded():
	default:
		t.Error("nobody is woken, so nobody hears of the new epoch")
	}
	if _, shared, known, err := l.Since(stateOf(first).marks(), true); shared != nil || !known || err != nil {
		t.Errorf("since the same content: %v known %v, %v", shared, known, err)
	}
	if l.RaiseEpoch(9) != raised || l.RaiseEpoch(2) != raised {
		t.Error("an epoch that is not higher raised it")
	}
	if h := New(Limits{}).RaiseEpoch(MaxEpoch); h.Epoch != MaxEpoch {
		t.Errorf("above the last epoch is %d", h.Epoch)
	}
	next := l.Publish(snapshot.RevisionDelta{}, slotDelta("a", 4, 1, slot(2)), at(2), at(2))
	_, shared, _, _ := l.Since(stateOf(first).marks(), true)
	if u := decode(t, shared); u.ChangesRevision() || u.To.Generation != next.Marks().Generation {
		t.Errorf("since the state before the epoch: %+v", u)
	}
}

func TestLOG4TheLogIsBounded(t *testing.T) {
	for name, limits := range map[string]Limits{"steps": {Steps: 5}, "items": {Items: 10}} {
		t.Run(name, func(t *testing.T) {
			l := New(limits)
			var states []state
			for i := range 50 {
				states = append(states, stateOf(l.Publish(snapshot.RevisionDelta{}, slotDelta("a", 4, 0, slot(i)), at(i), at(i))))
			}
			for i, s := range states {
				_, _, known, _ := l.Since(s.marks(), true)
				if want := i >= 50-6; known != want {
					t.Errorf("state %d of 50 is known: %v, want %v", i, known, want)
				}
			}
			if len(l.generations) > 6 || len(l.revisions) > 6 || l.oldest.generationDelta.Tables != nil {
				t.Errorf("%d generations and %d revisions are indexed, the oldest step keeps %v", len(l.generations), len(l.revisions), l.oldest.generationDelta)
			}
		})
	}
	t.Run("a publication above the limit", func(t *testing.T) {
		l := New(Limits{Items: 1})
		before := stateOf(l.Head())
		l.Publish(backendDelta("a", "roundrobin").Merge(backendDelta("b", "roundrobin")), snapshot.GenerationDelta{}, at(1), at(1))
		after := stateOf(l.Head())
		l.Publish(backendDelta("a", "leastconn"), snapshot.GenerationDelta{}, at(2), at(2))
		if _, _, known, _ := l.Since(before.marks(), true); known {
			t.Error("it can be started from before it")
		}
		if _, shared, known, _ := l.Since(after.marks(), true); !known || len(decode(t, shared).Revision.Changes) != 1 {
			t.Errorf("what came after it is known: %v", known)
		}
	})
}

func TestLOG5UpdatesAreShared(t *testing.T) {
	l := New(Limits{})
	held := stateOf(l.Publish(backendDelta("a", "roundrobin"), slotDelta("a", 4, 0, slot(1)), at(1), at(1)))
	head := l.Publish(backendDelta("a", "leastconn"), slotDelta("a", 4, 1, slot(2)), at(2), at(2))
	var wg sync.WaitGroup
	got := make([]*wire.Shared, 16)
	for i := range got {
		wg.Go(func() {
			if i%2 == 0 {
				_, got[i], _, _ = l.Since(held.marks(), true)
			} else {
				got[i], _ = head.Everything(true)
			}
		})
	}
	wg.Wait()
	for i := 2; i < len(got); i++ {
		if got[i] != got[i-2] {
			t.Errorf("readers %d and %d were given updates of their own", i, i-2)
		}
	}
	if _, other, _, _ := l.Since(held.marks(), false); other == got[0] {
		t.Error("the update without the revision is the one with it")
	}
	if other, _ := head.Everything(false); other == got[1] || decode(t, other).ChangesRevision() {
		t.Error("everything without the revision has it")
	}
	if u := decode(t, got[1]); !u.ChangesRevision() || len(u.Revision.Changes) != 1 || len(u.Generation.Tables) != 1 {
		t.Errorf("everything is %+v", u)
	}
}

// Content that comes back is equal at once, and what leads to it does not lead through what lay between.
func TestContentThatComesBack(t *testing.T) {
	l := New(Limits{})
	a := stateOf(l.Publish(backendDelta("a", "roundrobin"), snapshot.GenerationDelta{}, at(1), at(1)))
	b := stateOf(l.Publish(backendDelta("a", "leastconn"), snapshot.GenerationDelta{}, at(2), at(2)))
	back := l.Publish(backendDelta("a", "roundrobin"), snapshot.GenerationDelta{}, at(3), at(3))
	if back.Revision.Version.Number != 3 {
		t.Errorf("content that came back is revision %v", back.Revision.Version)
	}
	if _, shared, known, _ := l.Since(a.marks(), true); shared != nil || !known {
		t.Errorf("from the same content: %v, known %v", shared, known)
	}
	if _, shared, _, _ := l.Since(b.marks(), true); shared == nil || len(decode(t, shared).Revision.Changes) != 1 {
		t.Error("from what lay between there is nothing")
	}
	if l.Publish(backendDelta("a", "roundrobin"), snapshot.GenerationDelta{}, at(4), at(4)) != back {
		t.Error("a publication that changes nothing made a new head")
	}
	if keys := slices.Collect(back.Revision.All()); len(keys) != 1 {
		t.Errorf("the head has %d resources", len(keys))
	}
}
