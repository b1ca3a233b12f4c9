package node

import (
	"time"

	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
)

// pacing decides when the next reload may be: at once when it has been quiet, else some time after the last one, so that many structural changes become
// few reloads. A long reload is followed by a longer pause, and a failed one by a growing one.
type pacing struct {
	spacing time.Duration
	// reason is why a reload is wanted; None if it is not.
	reason plan.Reason
	// notBefore is the earliest time, due the time that the loop waits for: zero while nothing is wanted.
	notBefore, due time.Time
	failures       int
}

// want asks for a reload. The weightiest reason is kept.
func (p *pacing) want(r plan.Reason) {
	if p.reason == plan.None || r < p.reason {
		p.reason = r
	}
	p.due = p.notBefore
	if p.due.IsZero() {
		p.due = time.Unix(0, 1) // long ago
	}
}

// ready says whether a reload is wanted and may begin.
func (p *pacing) ready(now time.Time) bool { return p.reason != plan.None && !now.Before(p.notBefore) }

// wait puts the next reload off.
func (p *pacing) wait(until time.Time) { p.notBefore, p.due = until, until }

// begun is called when a reload starts: what is wanted from now on is a next one.
func (p *pacing) begun() plan.Reason {
	r := p.reason
	p.reason, p.due = plan.None, time.Time{}
	return r
}

// ended is called when the reload has ended, with how long it took.
func (p *pacing) ended(now time.Time, took time.Duration) {
	p.failures = 0
	p.notBefore = now.Add(max(p.spacing, 2*took))
	if p.reason != plan.None {
		p.due = p.notBefore
	}
}

// failed puts the next try off, longer each time.
func (p *pacing) failed(now time.Time, again plan.Reason) time.Duration {
	p.failures++
	delay := min(p.spacing<<min(p.failures-1, 5), 30*time.Second)
	p.notBefore = now.Add(delay)
	p.want(again)
	return delay
}
