// Package report holds what the node has to tell the plane. It does not queue: of each kind of news it keeps the newest, and whoever sends takes what
// has changed since it last took (P7). So a plane that was away or is slow hears what is true now, in one message of each kind.
//
//	REPORT-1  What was put last is what is taken, once.
//	REPORT-2  Merged reports of applied changes keep the oldest time seen and the weightiest way, so no latency is hidden by merging.
//	REPORT-3  After Again, what is still true is taken once more: a new stream learns all of it.
package report

import (
	"sync"

	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Box is where the node puts its news. All methods may be called from any goroutine; its mutex guards every field and is never held over a call.
type Box struct {
	mu       sync.Mutex
	wake     chan struct{}
	applied  *fleetv1.Applied
	rejected *fleetv1.Rejected
	failed   *fleetv1.Failed
	observed *fleetv1.Observed
	news     News
}

// News is what has changed since the last Take. A nil field has not.
type News struct {
	Applied  *fleetv1.Applied
	Rejected *fleetv1.Rejected
	Failed   *fleetv1.Failed
	Observed *fleetv1.Observed
	// Greet says that the node holds less than it has told: the plane is to be greeted again.
	Greet bool
}

// New returns an empty Box.
func New() *Box { return &Box{wake: make(chan struct{}, 1)} }

// Wake is readable when there may be news. It holds one token, so that a slow reader is woken once.
func (b *Box) Wake() <-chan struct{} { return b.wake }

func (b *Box) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Applied puts a report of what the worker has been read to have.
func (b *Box) Applied(a *fleetv1.Applied) {
	b.mu.Lock()
	if waiting := b.news.Applied; waiting != nil {
		if older(waiting, a) {
			a.Seen, a.Took = waiting.GetSeen(), waiting.GetTook()
		}
		if waiting.GetBy() == fleetv1.By_BY_RELOAD {
			a.By, a.Reason = waiting.GetBy(), waiting.GetReason()
		}
	}
	b.applied, b.news.Applied = a, a
	b.mu.Unlock()
	b.signal()
}

// older says whether the change that waits was seen before the new one.
func older(waiting, a *fleetv1.Applied) bool {
	if waiting.GetSeen() == nil {
		return false
	}
	return a.GetSeen() == nil || waiting.GetSeen().AsTime().Before(a.GetSeen().AsTime())
}

// Rejected puts a report of a revision that HAProxy refused; nil when none is refused any more.
func (b *Box) Rejected(r *fleetv1.Rejected) {
	b.mu.Lock()
	b.rejected, b.news.Rejected = r, r
	b.mu.Unlock()
	b.signal()
}

// Failed puts a report of something around the node that stands in the way; nil when nothing does any more.
func (b *Box) Failed(f *fleetv1.Failed) {
	b.mu.Lock()
	b.failed, b.news.Failed = f, f
	b.mu.Unlock()
	b.signal()
}

// Observed puts what the node has seen by itself.
func (b *Box) Observed(o *fleetv1.Observed) {
	b.mu.Lock()
	b.observed, b.news.Observed = o, o
	b.mu.Unlock()
	b.signal()
}

// Greet puts that the node holds less than it has told the plane.
func (b *Box) Greet() {
	b.mu.Lock()
	b.news.Greet = true
	b.mu.Unlock()
	b.signal()
}

// Take returns the news and forgets that they are new.
func (b *Box) Take() News {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.news
	b.news = News{}
	return n
}

// Again makes all that still holds new, for a stream that has heard none of it. What an earlier stream timed is not told as this one's latency.
func (b *Box) Again() {
	b.mu.Lock()
	b.news = News{Rejected: b.rejected, Failed: b.failed, Observed: b.observed}
	if b.applied != nil {
		a := &fleetv1.Applied{
			Applied: b.applied.GetApplied(), Worker: b.applied.GetWorker(), Excepted: b.applied.GetExcepted(), Haproxy: b.applied.GetHaproxy(),
			By: b.applied.GetBy(), Reason: b.applied.GetReason(),
		}
		b.news.Applied = a
	}
	b.mu.Unlock()
	b.signal()
}
