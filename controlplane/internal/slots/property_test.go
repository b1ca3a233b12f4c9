package slots

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/snapshot"
)

// move is one step of a random history, with what Assign made of it.
type move struct {
	prev, next *snapshot.Table
	eps        []Endpoint
	policy     Policy
	at         snapshot.Version
	delta      snapshot.TableDelta
	changed    bool
}

// history plays a random service and shows every step to check.
func history(t *testing.T, check func(t *rapid.T, m move)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		var w world
		var table *snapshot.Table
		policy := anyPolicy().Draw(t, "policy")
		for number := range uint64(rapid.IntRange(1, 12).Draw(t, "steps")) {
			w.step(t)
			m := move{prev: table, eps: w.eps, policy: policy, at: snapshot.Version{Epoch: 1, Number: number + 1}}
			m.next, m.delta, m.changed = Assign("web", m.prev, m.eps, m.policy, m.at)
			check(t, m)
			table = m.next
		}
	})
}

func (m move) before() []snapshot.Slot {
	if m.prev == nil {
		return nil
	}
	return m.prev.Slots
}

func (m move) slotOf(e Endpoint) (int, bool) {
	i := slices.IndexFunc(m.next.Slots, func(s snapshot.Slot) bool { return s.State != snapshot.Free && holder(s) == e.identity() })
	return i, i >= 0
}

func (m move) wanted(s snapshot.Slot) (Endpoint, bool) {
	i := slices.IndexFunc(m.eps, func(e Endpoint) bool { return e.identity() == holder(s) })
	if i < 0 {
		return Endpoint{}, false
	}
	return m.eps[i], true
}

func TestSLOT1AnEndpointKeepsItsSlot(t *testing.T) {
	history(t, func(t *rapid.T, m move) {
		for i, s := range m.before() {
			e, stays := m.wanted(s)
			if s.State == snapshot.Free || !stays {
				continue
			}
			now, seated := m.slotOf(e)
			if seated && now != i {
				t.Fatalf("%s moved from slot %d to %d", e.Name, i, now)
			}
			if seated {
				continue
			}
			if e.State == snapshot.Ready {
				t.Fatalf("%s takes traffic and lost slot %d", e.Name, i)
			}
			for j, free := range m.before() {
				if free.State == snapshot.Free && m.next.Slots[j].State == snapshot.Free {
					t.Fatalf("%s drains and lost slot %d while %d was free: %v", e.Name, i, j, m.next.Slots)
				}
			}
		}
	})
}

func TestSLOT2NoSlotIsShared(t *testing.T) {
	history(t, func(t *rapid.T, m move) {
		seen := map[identity]int{}
		for i, s := range m.next.Slots {
			if s.State == snapshot.Free {
				if (s != snapshot.Slot{Since: s.Since}) {
					t.Fatalf("slot %d is free and not empty: %+v", i, s)
				}
				continue
			}
			if other, twice := seen[holder(s)]; twice {
				t.Fatalf("%s is in slots %d and %d", s.Endpoint, other, i)
			}
			seen[holder(s)] = i
			if e, ok := m.wanted(s); !ok || e.State != s.State || e.Weight != s.Weight {
				t.Fatalf("slot %d holds %+v, wanted is %+v", i, s, e)
			}
		}
	})
}

func TestSLOT3NewcomersTakePlacesInOrder(t *testing.T) {
	history(t, func(t *rapid.T, m move) {
		want := model(m.prev, m.eps, m.policy, m.at.Number)
		if d := cmp.Diff(want, m.next.Slots, cmpopts.EquateComparable(snapshot.Slot{})); d != "" {
			t.Fatalf("before %+v\nendpoints %+v\nmodel against Assign:\n%s", m.before(), m.eps, d)
		}
	})
}

func TestSLOT4AVacatedSlotIsReusedLast(t *testing.T) {
	history(t, func(t *rapid.T, m move) {
		reused := false
		for i, s := range m.before() {
			_, stays := m.wanted(s)
			reused = reused || s.State != snapshot.Free && !stays && m.next.Slots[i].State != snapshot.Free
		}
		if !reused {
			return
		}
		for i, s := range m.before() {
			if s.State == snapshot.Free && m.next.Slots[i].State == snapshot.Free {
				t.Fatalf("a vacated slot was reused and slot %d left free", i)
			}
		}
	})
}

func TestSLOT5Bounds(t *testing.T) {
	history(t, func(t *rapid.T, m move) {
		ready := 0
		for _, e := range m.eps {
			if e.State != snapshot.Ready {
				continue
			}
			ready++
			if _, seated := m.slotOf(e); !seated {
				t.Fatalf("%s takes traffic and has no slot", e.Name)
			}
		}
		length := len(m.next.Slots)
		switch {
		case length < len(m.before()):
			t.Fatalf("the table went from %d to %d slots", len(m.before()), length)
		case m.prev == nil && length != Size(ready, m.policy):
			t.Fatalf("made with %d slots for %d endpoints, want %d", length, ready, Size(ready, m.policy))
		case m.prev != nil && length > len(m.before()) && (ready <= len(m.before()) || length != Size(ready, m.policy)):
			t.Fatalf("the table went from %d to %d slots for %d endpoints", len(m.before()), length, ready)
		}
	})
}

func TestSLOT6TheDeltaIsTheStep(t *testing.T) {
	history(t, func(t *rapid.T, m move) {
		g := snapshot.EmptyGeneration()
		if m.prev != nil {
			delta, _ := snapshot.DiffTables(nil, m.prev)
			g = g.Apply(snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{"web": delta}}, m.prev.Version)
		}
		if m.changed {
			g = g.Apply(snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{"web": m.delta}}, m.at)
		}
		if got := g.Table("web"); got.Version != m.next.Version || !slices.Equal(got.Slots, m.next.Slots) {
			t.Fatalf("the delta leads to %+v, Assign returned %+v", got, m.next)
		}
		if m.changed != (m.next != m.prev) || !m.changed && len(m.delta.Slots) > 0 {
			t.Fatalf("changed is %v, the tables are %p and %p, the delta %+v", m.changed, m.prev, m.next, m.delta)
		}
		again, _, _ := Assign("web", m.next, m.eps, m.policy, m.at.Next(1))
		for i, s := range again.Slots {
			if s != m.next.Slots[i] && (s.State != snapshot.Drain || m.next.Slots[i].State != snapshot.Free) {
				t.Fatalf("asked again, slot %d went from %+v to %+v", i, m.next.Slots[i], s)
			}
		}
	})
}

func TestSLOT7Since(t *testing.T) {
	history(t, func(t *rapid.T, m move) {
		for i, s := range m.next.Slots {
			var want uint64
			switch {
			case s.State == snapshot.Ready || i >= len(m.before()) && s.State == snapshot.Free:
			case i < len(m.before()) && s.State == m.before()[i].State && holder(s) == holder(m.before()[i]):
				want = m.before()[i].Since
			default:
				want = m.at.Number
			}
			if s.Since != want {
				t.Fatalf("slot %d is %+v after %+v in step %d, want since %d", i, s, m.before(), m.at.Number, want)
			}
		}
	})
}

func TestSLOT8Shrink(t *testing.T) {
	history(t, func(t *rapid.T, m move) {
		// Most of the endpoints go, and only then may it be half.
		kept := m.eps[:len(m.eps)/rapid.IntRange(1, 5).Draw(t, "share")]
		long, _, _ := Assign("web", nil, m.eps, Policy{Minimum: rapid.IntRange(0, 60).Draw(t, "long")}, m.at)
		long, _, _ = Assign("web", long, kept, m.policy, m.at)
		ready := 0
		for _, s := range long.Slots {
			if s.State == snapshot.Ready {
				ready++
			}
		}
		short, delta, changed := Shrink(long, m.policy, m.at)
		if !changed {
			if short != long {
				t.Fatalf("unchanged, and another table")
			}
			return
		}
		if 2*Size(ready, m.policy) > len(long.Slots) {
			t.Fatalf("%d slots became %d for %d endpoints", len(long.Slots), len(short.Slots), ready)
		}
		if len(short.Slots) < Size(ready, m.policy) || len(short.Slots) >= len(long.Slots) || len(delta.Slots) > 0 || delta.Length != len(short.Slots) {
			t.Fatalf("%d slots became %d for %d endpoints, by %+v", len(long.Slots), len(short.Slots), ready, delta)
		}
		if !slices.Equal(short.Slots, long.Slots[:len(short.Slots)]) {
			t.Fatalf("a slot that stays has changed")
		}
		for i, s := range long.Slots[len(short.Slots):] {
			if s.State != snapshot.Free {
				t.Fatalf("slot %d was cut off and is %v", len(short.Slots)+i, s.State)
			}
		}
	})
}
