package dir

import (
	"context"
	"strings"
	"time"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// forgotten is what became of an order to forget.
type forgotten struct {
	removed int
	err     error
}

// Forget makes what cannot be read at this moment count as deleted. Run does it, so that one goroutine delivers.
func (s *Source) Forget(ctx context.Context) (removed int, err error) {
	answer := make(chan forgotten, 1)
	select {
	case s.orders <- answer:
	case <-s.ended:
		return 0, source.ErrEnded
	case <-ctx.Done():
		return 0, ctx.Err() //nolint:wrapcheck // Who asked words it.
	}
	f := <-answer // Run always answers, and waits for nothing before
	return f.removed, f.err
}

// forget is Forget in Run's goroutine, which has just looked at everything.
func (s *Source) forget(r *reader, sink source.Sink, now time.Time) forgotten {
	b := r.forget(now)
	if b == nil {
		return forgotten{err: source.ErrNothingToForget}
	}
	s.tell(b)
	sink.Deliver(*b)
	return forgotten{removed: len(b.Gone)}
}

// unforgotten takes out of the faults what was forgotten, and lets go of what was forgotten and is a fault no longer, or another one (DIR-9).
func (r *reader) unforgotten(faults map[string]fault) map[string]fault {
	for place, f := range r.forgotten {
		if now, still := faults[place]; still && now.text == f.text {
			delete(faults, place)
		} else {
			delete(r.forgotten, place)
		}
	}
	return faults
}

// forget drops the rows of everything that cannot be read, and gives what changed. It gives nil when all can be read, unless there is no object at all
// and that was not said to be meant.
func (r *reader) forget(now time.Time) *source.Batch {
	faults := r.unforgotten(r.faults(now))
	if len(faults) == 0 && (!r.listed || !r.bare.IsZero() || r.index.delivered() > 0) {
		return nil
	}
	if root, ok := faults[""]; ok {
		faults = map[string]fault{"": root} // all else went with it
	}
	for place, f := range faults {
		r.forgotten[place] = fault{text: f.text, since: now}
		r.drop(place)
	}
	b := source.Batch{Source: r.name, Seen: now, ByHand: true, Full: !r.listed}
	r.listed, r.synced = true, true
	if r.begun.IsZero() {
		r.begun = now
	}
	b.Put, b.Gone, b.Reports = r.index.flush()
	if r.index.delivered() == 0 {
		r.bare = now
	}
	r.told = r.state(nil)
	state := r.told
	b.State = &state
	return &b
}

// drop makes a place say nothing: the root, a directory that cannot be looked into, or a file. It is read as if for the first time when it can be.
func (r *reader) drop(place string) {
	if place == "" {
		for rel := range r.files {
			r.index.set(rel, nil)
		}
		clear(r.files)
		clear(r.broken)
		clear(r.blind)
		clear(r.lost)
		r.tree = nil
		return
	}
	for rel, f := range r.files {
		switch {
		case rel == place:
			f.hash, f.retry = [32]byte{}, true
		case strings.HasPrefix(rel, place+"/"):
			delete(r.files, rel)
		default:
			continue
		}
		r.index.set(rel, nil)
	}
}
