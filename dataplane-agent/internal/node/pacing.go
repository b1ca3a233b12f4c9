package node

import "time"

// pacing decides when the next reload may be: at once when it has been quiet, else some time after the last one, so that many structural changes become
// few reloads. A long reload is followed by a longer pause, and a failed one by a growing one. So is a HAProxy that dies soon after its start.
type pacing struct {
	spacing time.Duration
	// notBefore is the earliest time of the next reload.
	notBefore time.Time
	// failures counts reloads that failed, and starts that came to nothing, since the last that was good.
	failures int
}

const (
	// slowest is the longest pause after a failure.
	slowest = 30 * time.Second
	// lookAgain is the longest pause after a failure that costs next to nothing.
	lookAgain = 2 * time.Second
	// steady is how long a HAProxy has to run for its start to count as good.
	steady = 10 * time.Second
)

// ready says whether a reload may begin.
func (p *pacing) ready(now time.Time) bool { return !now.Before(p.notBefore) }

// wait puts the next reload off.
func (p *pacing) wait(until time.Time) { p.notBefore = until }

// ended is called when a reload has ended well, or a revision was refused, with how long that took.
func (p *pacing) ended(now time.Time, took time.Duration) {
	p.notBefore = now.Add(max(p.spacing, 2*took))
}

// good is called when what was started has proved itself.
func (p *pacing) good() { p.failures = 0 }

// failed puts the next try off, longer each time, but not longer than most.
func (p *pacing) failed(now time.Time, most time.Duration) time.Duration {
	delay := min(p.spacing<<min(p.failures, 16), most)
	p.failures++
	p.notBefore = now.Add(delay)
	return delay
}

// backoff spaces what is tried again and again.
type backoff struct {
	// at is the earliest time of the next try, zero if nothing has failed.
	at    time.Time
	delay time.Duration
}

func (b *backoff) ready(now time.Time) bool { return !now.Before(b.at) }

// failed puts the next try off, longer each time.
func (b *backoff) failed(now time.Time) time.Duration {
	b.delay = min(max(2*b.delay, 50*time.Millisecond), 5*time.Second)
	b.at = now.Add(b.delay)
	return b.delay
}

func (b *backoff) reset() { *b = backoff{} }
