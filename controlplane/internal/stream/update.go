package stream

import (
	"time"

	"google.golang.org/grpc/status"

	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// flight is an update that the node has not answered yet. The nil flight is none.
type flight struct {
	id     uint64
	shared *wire.Shared
	to     wire.Marks
	// confirms says that a dirty node is owed it.
	confirms bool
	// kept is what the node holds beside the tables of the log once it has the update.
	kept *changelog.Kept
	// frame is the next to be sent; sent is when the last one was.
	frame int
	sent  time.Time
}

// sending says whether there are frames left.
func (f *flight) sending() bool { return f != nil && f.frame < f.shared.Len() }

func (f *flight) handed(now time.Time) {
	if f.frame++; !f.sending() {
		f.sent = now
	}
}

// reached says whether held has the content of to; a clock without a mark in to does not count.
func reached(to, held wire.Marks) bool {
	return (to.Revision == wire.Mark{} || to.Revision.Digest == held.Revision.Digest) &&
		(to.Generation == wire.Mark{} || to.Generation.Digest == held.Generation.Digest)
}

// buckets is the question for the digests of what the node holds.
type buckets struct {
	// once says that it was asked since an update last fitted, since from when on it has not been answered.
	once  bool
	since time.Time
}

// trust says how far the plane believes that it knows what the node holds. It falls with each update that did not fit, and is full again
// after one that did.
type trust int

const (
	// trustMarks: the digests that the node tells are the state that the plane knows by them.
	trustMarks trust = iota
	// trustMarksAgain: one update did not fit, but the node has told anew what it holds.
	trustMarksAgain
	// trustBuckets: the node's bucket digests tell.
	trustBuckets
	// trustNothing: the node is sent everything.
	trustNothing
	// trustLost: not even that was taken.
	trustLost
)

// retry spaces the updates to a node that could not take one, for a full disk say.
type retry struct {
	at   time.Time
	wait time.Duration
}

func (r *retry) waiting() bool { return !r.at.IsZero() }

func (r *retry) later(now time.Time, t Timing) {
	r.wait = min(max(2*r.wait, t.RetryMin), t.RetryMax)
	r.at = now.Add(r.wait)
}

// advance brings the session up to date with the plane and begins what leads the node to the newest, unless something is under way.
func (x *session) advance(now time.Time) error {
	x.look()
	if x.waiting.Code != 0 && !x.flows || x.flight != nil || !x.asked.since.IsZero() {
		return nil
	}
	if !x.fleet.Frozen {
		x.keep(nil)
	}
	if x.retry.waiting() {
		if now.Before(x.retry.at) {
			return nil
		}
		x.retry.at = time.Time{}
	}
	if err := x.begin(now); err != nil {
		if _, ends := status.FromError(err); ends {
			return err
		}
		// Only a resource that breaks the protocol's limits leads here; the compiler is to refuse those. The next head may be without it.
		x.log.Error().Err(err).Msg("an update cannot be sent; the node keeps what it has")
		x.retry.later(now, x.server.timing)
	}
	return nil
}

// begin begins what leads the node to the newest. A status ends the stream.
func (x *session) begin(now time.Time) error {
	if x.fleet.Frozen {
		return x.offerKept()
	}
	return x.offer(now)
}

// wantRevision says whether the node is to be sent the head's revision.
func (x *session) wantRevision(head *changelog.Head) bool {
	_, rejected := x.rejected[head.Revision.Digest()]
	return !rejected
}

// offer begins the cheapest thing that leads the node to the newest.
func (x *session) offer(now time.Time) error {
	want := x.wantRevision(x.head)
	unknown := x.trust >= trustNothing || x.held.Same(wire.Marks{})
	if unknown && !reached(x.target(x.head, want), x.held) {
		return x.everything(want)
	}
	head, shared, known, err := x.fleet.Log.Since(x.held, want)
	if err != nil {
		return err
	}
	x.head = head
	want = x.wantRevision(head)
	switch {
	case known && shared == nil:
		return x.confirmHeld(want)
	case known && x.trust < trustBuckets:
		x.launch(shared, want)
		return nil
	case !x.asked.once:
		x.ask(now, want)
		return nil
	}
	return x.everything(want)
}

// launch puts an update in flight.
func (x *session) launch(shared *wire.Shared, wantRevision bool) {
	x.updates++
	x.flight = &flight{id: x.updates, shared: shared, to: x.target(x.head, wantRevision), confirms: x.confirm}
	x.confirm = false
}

// target is where an update leads.
func (x *session) target(head *changelog.Head, wantRevision bool) wire.Marks {
	to := head.Marks()
	if !wantRevision {
		to.Revision = wire.Mark{}
	}
	return to
}

func (x *session) everything(wantRevision bool) error {
	shared, err := x.head.Everything(wantRevision)
	if err != nil {
		return err
	}
	x.launch(shared, wantRevision)
	return nil
}

// confirmHeld sends a dirty node that holds the newest an update without changes, for it to make sure that its worker has it and to say so.
func (x *session) confirmHeld(wantRevision bool) error {
	if !x.confirm {
		return nil
	}
	to := x.target(x.head, wantRevision)
	shared, err := wire.Share(wire.Update{Scope: fleetv1.Scope_SCOPE_CHANGES, From: to, To: to})
	if err != nil {
		return err
	}
	x.launch(shared, wantRevision)
	return nil
}

// ask asks for the bucket digests of the clocks that differ.
func (x *session) ask(now time.Time, wantRevision bool) {
	newest := x.head.Marks()
	question := &fleetv1.AskBuckets{
		Revision:   wantRevision && (x.trust >= trustBuckets || x.held.Revision.Digest != newest.Revision.Digest),
		Generation: x.trust >= trustBuckets || x.held.Generation.Digest != newest.Generation.Digest,
	}
	x.asked = buckets{once: true, since: now}
	x.control = append(x.control, &fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_AskBuckets{AskBuckets: question}})
}
