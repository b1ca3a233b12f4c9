package changelog

import (
	"sync"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// request is all that an update depends on, beside the head.
type request struct {
	// revision and generation are where the clocks start; they are zero for a clock that is not wanted.
	revision, generation         snapshot.Digest
	wantRevision, wantGeneration bool
	everything                   bool
	// join: the generation is a node's, and not a state of the log. kept is the sum of the tables that it keeps beside those of the log.
	join bool
	kept snapshot.Digest
}

// updates are those that have been asked for from one head, each made once and shared by all who ask. They go with their head.
type updates struct {
	mu   sync.Mutex
	made map[request]*made
}

type made struct {
	once   sync.Once
	shared *wire.Shared
	err    error
	// Of a step also where it leads.
	to   wire.Mark
	kept *Kept
}

// get returns the update for r, which encode makes the first time. Only those who ask for the same wait for it.
func (u *updates) get(r request, encode func(*made)) *made {
	u.mu.Lock()
	m := u.made[r]
	if m == nil {
		m = &made{}
		u.made[r] = m
	}
	u.mu.Unlock()
	m.once.Do(func() { encode(m) })
	return m
}

// Since returns what leads from the state held to the head: the changes of the clocks that differ, nil if none does. The revision is left out
// unless it is wanted. known is false when the log does not remember the state. The error names a resource that the protocol cannot carry.
func (l *Log) Since(held wire.Marks, wantRevision bool) (head *Head, update *wire.Shared, known bool, err error) {
	l.mu.Lock()
	head = l.Head()
	r := request{
		wantRevision:   wantRevision && held.Revision.Digest != head.Revision.Digest(),
		wantGeneration: held.Generation.Digest != head.Generation.Digest(),
	}
	from, known := l.find(&r, held)
	l.mu.Unlock()
	if !known || !r.wantRevision && !r.wantGeneration {
		return head, nil, known, nil
	}
	m := head.updates.get(r, func(m *made) { m.shared, m.err = wire.Share(head.since(from)) })
	return head, m.shared, true, m.err
}

// bases are the steps after which the clocks were in the state that an update starts from; nil for a clock that it leaves out.
type bases struct{ revision, generation *step }

func (l *Log) find(r *request, held wire.Marks) (b bases, known bool) {
	if r.wantRevision {
		r.revision = held.Revision.Digest
		b.revision = l.revisions[r.revision]
	}
	if r.wantGeneration {
		r.generation = held.Generation.Digest
		b.generation = l.generations[r.generation]
	}
	return b, (b.revision != nil || !r.wantRevision) && (b.generation != nil || !r.wantGeneration)
}

// since merges the changes after the bases.
func (h *Head) since(from bases) wire.Update {
	u := wire.Update{Scope: fleetv1.Scope_SCOPE_CHANGES}
	if base := from.revision; base != nil {
		u.From.Revision.Digest, u.To.Revision = base.revision, h.Marks().Revision
		steps := h.after(base)
		u.Revision = merge(steps, func(s *step) snapshot.RevisionDelta { return s.revisionDelta }, snapshot.RevisionDelta.Merge)
		u.Seen = earliest(u.Seen, steps, func(s *step) bool { return !s.revisionDelta.Empty() })
	}
	if base := from.generation; base != nil {
		u.From.Generation.Digest, u.To.Generation = base.generation, h.Marks().Generation
		steps := h.after(base)
		u.Generation = merge(steps, func(s *step) snapshot.GenerationDelta { return s.generationDelta }, snapshot.GenerationDelta.Merge)
		u.Seen = earliest(u.Seen, steps, func(s *step) bool { return !s.generationDelta.Empty() })
	}
	return u
}

// after lists the steps that lead from base to the head.
func (h *Head) after(base *step) []*step {
	var steps []*step
	for s := base; s.sequence < h.sequence; {
		s = s.next
		steps = append(steps, s)
	}
	return steps
}

// merge folds the deltas of the steps in halves, which the law of merging allows, so that the cost is not the square of their number.
func merge[D any](steps []*step, delta func(*step) D, two func(D, D) D) D {
	switch len(steps) {
	case 0:
		var none D
		return none
	case 1:
		return delta(steps[0])
	}
	half := len(steps) / 2
	return two(merge(steps[:half], delta, two), merge(steps[half:], delta, two))
}

// earliest is the earliest time that a source saw one of the changes.
func earliest(seen time.Time, steps []*step, counts func(*step) bool) time.Time {
	for _, s := range steps {
		if counts(s) && !s.seen.IsZero() && (seen.IsZero() || s.seen.Before(seen)) {
			seen = s.seen
		}
	}
	return seen
}

// Everything returns all that there is, for a node whose state is not known. The revision is left out unless it is wanted.
func (h *Head) Everything(wantRevision bool) (*wire.Shared, error) {
	m := h.updates.get(request{everything: true, wantRevision: wantRevision}, func(m *made) {
		rev := h.Revision
		if !wantRevision {
			rev = nil
		}
		m.shared, m.err = wire.Share(wire.Everything(rev, h.Generation))
	})
	return m.shared, m.err
}
