package rig

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A Follower watches one node's workers come and go, and says what it found of each.
type Follower struct {
	// Check looks at a new worker for as long as it holds an error back; it is asked again and again for Within after the worker was met.
	Check  func(n *Node, worker int) error
	Within time.Duration

	mu      sync.Mutex // guards what follows
	reloads int
	old     int
	slowest time.Duration
	errs    []error
}

// Run follows the node until ctx ends. A worker that gives way to the next before its check succeeded and before the time was over is not judged.
func (f *Follower) Run(ctx context.Context, n *Node) {
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	last, looked := 0, time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if time.Since(looked) > 100*time.Millisecond {
			looked = time.Now()
			if old, err := n.OldWorkers(); err == nil { // a master that executes itself again does not answer for a moment
				f.note(func() { f.old = max(f.old, old) })
			}
		}
		id, err := n.Worker()
		if err != nil || id.PID == last {
			continue
		}
		if last != 0 {
			f.note(func() { f.reloads++ })
		}
		last = id.PID
		if f.Check != nil {
			f.judge(ctx, n, id.PID)
		}
	}
}

func (f *Follower) judge(ctx context.Context, n *Node, pid int) {
	start := time.Now()
	replaced := false
	err := Within(f.Within, func() error {
		err := f.Check(n, pid)
		if err == nil || ctx.Err() != nil {
			return nil //nolint:nilerr // What a node says while the test ends does not count.
		}
		if id, otherwise := n.Worker(); otherwise == nil && id.PID != pid {
			replaced = true
			return nil
		}
		return err
	})
	f.note(func() {
		if err != nil {
			f.errs = append(f.errs, fmt.Errorf("%s, worker %d, %v after it was met: %w", n.Label(), pid, time.Since(start).Round(time.Millisecond), err))
		} else if !replaced && ctx.Err() == nil {
			f.slowest = max(f.slowest, time.Since(start))
		}
	})
}

func (f *Follower) note(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// Report tells how often the node was reloaded, how many old workers it had at most, how long the slowest check took to succeed, and which did not.
func (f *Follower) Report() (reloads, old int, slowest time.Duration, errs []error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reloads, f.old, f.slowest, append([]error(nil), f.errs...)
}
