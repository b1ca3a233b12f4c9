package changelog

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
)

// Limits bound the log. A zero field stands for its default.
type Limits struct {
	// Steps is how many publications are remembered, 4,096 by default.
	Steps int
	// Items is how many resources, tables and slots these name together, 262,144 by default. A publication that names more alone is not remembered.
	Items int
}

// Log is the newest snapshot of one fleet with the changes that led to it.
type Log struct {
	limits Limits
	head   atomic.Pointer[Head]

	mu sync.Mutex
	// oldest is the state that updates can start from at the earliest; the steps after it, up to last, hang on it.
	oldest, last *step
	steps, items int
	// revisions and generations lead from a digest to the newest step after which the clock had it.
	revisions, generations map[snapshot.Digest]*step
}

// step is one publication: what it changed, and the digests after it. It is immutable, next aside, which is set once, before there is a head
// with a higher sequence: whoever walks from a step to a head's sequence reads no next that is still to be set.
type step struct {
	next     *step
	sequence uint64

	revision        snapshot.Digest
	revisionDelta   snapshot.RevisionDelta
	generation      snapshot.Digest
	generationDelta snapshot.GenerationDelta
	seen            time.Time
	items           int
}

// New gives an empty log of epoch 1: one more than the largest that anybody has told of.
func New(limits Limits) *Log {
	if limits.Steps <= 0 {
		limits.Steps = 4096
	}
	if limits.Items <= 0 {
		limits.Items = 262144
	}
	nothing := &step{}
	l := &Log{
		limits: limits, oldest: nothing, last: nothing,
		revisions: map[snapshot.Digest]*step{}, generations: map[snapshot.Digest]*step{},
	}
	l.index(nothing)
	l.swap(&Head{Revision: snapshot.EmptyRevision(), Generation: snapshot.EmptyGeneration(), Epoch: 1})
	return l
}

// Head is the newest snapshot.
func (l *Log) Head() *Head { return l.head.Load() }

// Publish applies the changes to the head and returns the newest one: a new one if either clock's content changed or nothing had been published
// before. seen is when a source saw the oldest of the changes, zero where none did; now is when they are published. Only the log's
// one writer calls it.
func (l *Log) Publish(rev snapshot.RevisionDelta, gen snapshot.GenerationDelta, seen, now time.Time) *Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.Head()
	next := *old
	first := !old.Published()
	if r := old.Revision.Apply(rev, old.NextRevision()); first || r.Digest() != old.Revision.Digest() {
		next.Revision, next.RevisionTime = r, now
	} else {
		rev = snapshot.RevisionDelta{}
	}
	gen = stamp(gen, old)
	if g := old.Generation.Apply(gen, old.NextGeneration()); first || g.Digest() != old.Generation.Digest() {
		next.Generation, next.GenerationTime = g, now
	} else {
		gen = snapshot.GenerationDelta{}
	}
	if next.Revision == old.Revision && next.Generation == old.Generation {
		return old
	}
	next.sequence++
	l.append(&step{
		sequence: next.sequence,
		revision: next.Revision.Digest(), revisionDelta: rev,
		generation: next.Generation.Digest(), generationDelta: gen,
		seen: seen, items: len(rev.Changes) + len(gen.Tables) + gen.Slots(),
	})
	return l.swap(&next)
}

// stamp gives the tables the version that they are published under: the epoch may have been raised since they were assigned. A table that the log does not have
// is written whole: a node may have one of that name which it keeps.
func stamp(d snapshot.GenerationDelta, old *Head) snapshot.GenerationDelta {
	stamped := snapshot.GenerationDelta{Tables: make(map[string]snapshot.TableDelta, len(d.Tables))}
	version := old.NextGeneration()
	for backend, t := range d.Tables {
		t.Version = version
		if old.Generation.Table(backend) == nil {
			if t.Removed {
				continue
			}
			t.Reset = true
		}
		stamped.Tables[backend] = t
	}
	return stamped
}

// MaxEpoch is the last epoch. A node that tells of it pushes no plane out of what nodes may tell of: whoever comes to it stays in it, and no node refuses an update of the
// epoch that it has seen itself.
const MaxEpoch = 1 << 53

// RaiseEpoch makes the log's epoch one more than above, which somebody has told of, unless it is higher already or the last. Both clocks are renumbered
// into it; nothing is sent again, because identity is the digest.
func (l *Log) RaiseEpoch(above uint64) *Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.Head()
	if old.Epoch > above || old.Epoch == MaxEpoch {
		return old
	}
	next := *old
	next.Epoch = min(above, MaxEpoch-1) + 1
	if old.Published() {
		next.Revision = old.Revision.Apply(snapshot.RevisionDelta{}, renumber(old.Revision.Version, next.Epoch))
		next.Generation = old.Generation.Apply(snapshot.GenerationDelta{}, renumber(old.Generation.Version, next.Epoch))
	}
	return l.swap(&next)
}

// RaiseNumbers makes the next revision and generation, and those that have been published already, have higher numbers than these, which nodes have of a
// plane before this one: slots count generations by them, and "free longest" is to mean the same over a restart. Nothing is sent again.
func (l *Log) RaiseNumbers(revision, generation uint64) *Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.Head()
	if revision <= old.revisionFloor && generation <= old.generationFloor {
		return old
	}
	next := *old
	next.revisionFloor, next.generationFloor = max(revision, old.revisionFloor), max(generation, old.generationFloor)
	if old.Published() && (old.Revision.Version.Number <= revision || old.Generation.Version.Number <= generation) {
		next.Revision = old.Revision.Apply(snapshot.RevisionDelta{}, next.NextRevision())
		next.Generation = old.Generation.Apply(snapshot.GenerationDelta{}, next.NextGeneration())
	}
	return l.swap(&next)
}

// renumber moves a version into a higher epoch. Its number stays: slots count generations by it.
func renumber(v snapshot.Version, epoch uint64) snapshot.Version {
	return snapshot.Version{Epoch: epoch, Number: v.Number}
}

// swap makes h the head and wakes whoever waits for one.
func (l *Log) swap(h *Head) *Head {
	h.superseded = make(chan struct{})
	h.updates = &updates{made: map[request]*made{}}
	if old := l.head.Swap(h); old != nil {
		close(old.superseded)
	}
	return h
}

// append adds a step at the end of the list and lets go of what is beyond the limits.
func (l *Log) append(s *step) {
	l.last.next = s
	l.last = s
	l.index(s)
	l.steps++
	l.items += s.items
	for l.steps > l.limits.Steps || l.items > l.limits.Items {
		l.forget()
	}
}

func (l *Log) index(s *step) {
	l.revisions[s.revision] = s
	l.generations[s.generation] = s
}

// forget makes the state after the oldest remembered step the earliest that updates can start from.
func (l *Log) forget() {
	gone, first := l.oldest, l.oldest.next
	if l.revisions[gone.revision] == gone {
		delete(l.revisions, gone.revision)
	}
	if l.generations[gone.generation] == gone {
		delete(l.generations, gone.generation)
	}
	// A copy without the changes, for only the state after them is still of use.
	base := &step{next: first.next, sequence: first.sequence, revision: first.revision, generation: first.generation}
	if l.revisions[first.revision] == first {
		l.revisions[first.revision] = base
	}
	if l.generations[first.generation] == first {
		l.generations[first.generation] = base
	}
	if l.last == first {
		l.last = base
	}
	l.oldest = base
	l.steps--
	l.items -= first.items
}
