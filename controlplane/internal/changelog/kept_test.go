package changelog

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/snapshot"
)

// holder is a node of a frozen fleet.
type holder struct {
	gen  *snapshot.Generation
	kept *Kept
	// others is what it holds that the log has never written, as it was first.
	others map[string]snapshot.Digest
}

func (n *holder) take(t *rapid.T, s Step) {
	t.Helper()
	if s.Update != nil {
		u := decode(t, s.Update)
		if u.ChangesRevision() {
			t.Fatal("a frozen fleet is sent a revision")
		}
		_, gen, err := u.Apply(snapshot.EmptyRevision(), n.gen)
		if err != nil {
			t.Fatal(err)
		}
		n.gen = gen
	}
	if s.To.Digest != n.gen.Digest() {
		t.Fatalf("the step leads to %s, the node holds %s", s.To.Digest.Short(), n.gen.Digest().Short())
	}
	n.kept = s.Kept
}

// check compares the node with the log: every table of the log as the log has it, and every other as the node had it.
func (n *holder) check(t *rapid.T, h *Head) {
	t.Helper()
	own := snapshot.Digest{}
	for table := range h.Generation.All() {
		delete(n.others, table.Backend)
		has := n.gen.Table(table.Backend)
		if has == nil || has.Digest() != table.Digest() {
			t.Fatalf("of table %s the node has %+v, the log %+v", table.Backend, has, table)
		}
		own = own.Add(table.Digest())
	}
	for table := range n.gen.All() {
		if h.Generation.Table(table.Backend) == nil {
			if want, there := n.others[table.Backend]; !there || want != table.Digest() {
				t.Fatalf("the node holds another table %s than it had: %+v", table.Backend, table)
			}
			own = own.Add(table.Digest())
		}
	}
	for backend := range n.others {
		if n.gen.Table(backend) == nil {
			t.Fatalf("table %s was to be kept", backend)
		}
	}
	if n.gen.Digest() != h.Generation.Digest().Add(n.kept.Sum()) || own != n.gen.Digest() {
		t.Fatal("the digests do not add up")
	}
}

func TestLOG7WhatANodeKeepsStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := New(Limits{})
		publish := func() {
			d := anyGenerationDelta(t)
			for backend, td := range d.Tables {
				if td.Removed && l.Head().Generation.Table(backend) == nil {
					delete(d.Tables, backend) // nobody takes away what is not there
				}
			}
			l.Publish(snapshot.RevisionDelta{}, d, at(1), at(1))
		}
		for range rapid.IntRange(0, 3).Draw(t, "before") {
			publish()
		}
		gen := snapshot.EmptyGeneration().Apply(anyGenerationDelta(t).Merge(anyGenerationDelta(t)), snapshot.Version{Epoch: 1, Number: 9})
		gen = gen.Apply(slotDelta("other", 2, 1, slot(7)), snapshot.Version{Epoch: 1, Number: 10})
		n := &holder{gen: gen, others: map[string]snapshot.Digest{}}
		tables := map[string]snapshot.Digest{}
		for table := range gen.All() {
			tables[table.Backend], n.others[table.Backend] = table.Digest(), table.Digest()
		}
		step, err := l.Join(gen.Digest(), tables)
		if err != nil {
			t.Fatal(err)
		}
		n.take(t, step)
		n.check(t, step.Head)
		for range rapid.IntRange(1, 6).Draw(t, "publications") {
			publish()
			if rapid.Bool().Draw(t, "the node is busy") {
				continue
			}
			step, known, err := l.SinceKept(n.gen.Digest(), n.kept)
			if err != nil || !known {
				t.Fatalf("known %v, %v", known, err)
			}
			// Whatever came and went while the node was busy may be gone from it.
			for backend := range n.others {
				if _, gone := step.Kept.gone[backend]; gone {
					delete(n.others, backend)
				}
			}
			n.take(t, step)
			n.check(t, step.Head)
		}
	})
}

// Nodes that hold the same share one update, encoded once.
func TestLOG5NodesThatKeepTheSameShareAnUpdate(t *testing.T) {
	l := New(Limits{})
	l.Publish(snapshot.RevisionDelta{}, slotDelta("a", 2, 0, slot(1)), at(1), at(1))
	other := snapshot.EmptyGeneration().Apply(slotDelta("other", 2, 1, slot(7)), snapshot.Version{Epoch: 1, Number: 10})
	tables := map[string]snapshot.Digest{"other": other.Digest()}
	first, err := l.Join(other.Digest(), tables)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := l.Join(other.Digest(), tables)
	if first.Update == nil || first.Update != second.Update {
		t.Error("two nodes that hold the same are sent two updates")
	}
	l.Publish(snapshot.RevisionDelta{}, slotDelta("a", 2, 0, slot(2)), at(2), at(2))
	one, _, _ := l.SinceKept(first.To.Digest, first.Kept)
	two, _, _ := l.SinceKept(second.To.Digest, second.Kept)
	if one.Update == nil || one.Update != two.Update {
		t.Error("the next change is two updates")
	}
}

func TestLOG2NumbersGoOnAboveThoseOfAPlaneBefore(t *testing.T) {
	for _, published := range []bool{false, true} {
		t.Run(fmt.Sprint("published=", published), func(t *testing.T) {
			l := New(Limits{})
			if published {
				l.Publish(backendDelta("a", "roundrobin"), slotDelta("a", 2, 0, slot(1)), at(1), at(1))
			}
			before := l.Head()
			h := l.RaiseNumbers(40, 700)
			if h.Marks().Same(before.Marks()) != true || h.Published() != published {
				t.Error("a number changed content")
			}
			if v := h.NextGeneration(); v.Number <= 700 || h.NextRevision().Number <= 40 {
				t.Errorf("the next generation is %s, the next revision %s", v, h.NextRevision())
			}
			if published && (h.Generation.Version.Number <= 700 || h.Revision.Version.Number <= 40) {
				t.Errorf("what is published has the numbers %s and %s", h.Revision.Version, h.Generation.Version)
			}
			if l.RaiseNumbers(3, 5) != h {
				t.Error("lower numbers made a new head")
			}
			next := l.Publish(backendDelta("b", "roundrobin"), slotDelta("b", 2, 0, slot(1)), at(1), at(1))
			if next.Generation.Version.Number <= max(700, h.Generation.Version.Number) || next.Generation.Table("b").Version != next.Generation.Version {
				t.Errorf("published as %s, its table as %s", next.Generation.Version, next.Generation.Table("b").Version)
			}
		})
	}
}
