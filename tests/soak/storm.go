package soak

import (
	"math/rand/v2"
	"slices"
	"time"
)

// storm lets the faults of a round begin and end, and returns when the last one was over.
func (r *Run) storm(round Round) time.Time {
	type step struct {
		at time.Duration
		do func()
	}
	r.churn.ticking.Store(true)
	r.churn.changing.Store(true)
	steps := []step{{Quiet, func() { r.churn.changing.Store(false) }}}
	for _, f := range round.Faults {
		var end func() error
		steps = append(steps, step{f.Begin, func() { end = r.begin(f) }}, step{f.End, func() { r.over(f, end) }})
	}
	slices.SortStableFunc(steps, func(a, b step) int { return int(a.at - b.at) })
	start := time.Now()
	for _, s := range steps {
		<-time.After(time.Until(start.Add(s.at)))
		s.do()
	}
	over := time.Now()
	<-time.After(time.Until(start.Add(Quiet)))
	r.churn.ticking.Store(false)
	return over
}

// begin lets a fault begin and returns what ends it.
func (r *Run) begin(f Fault) func() error {
	var n *node
	if f.Node >= 0 {
		n = r.nodes[f.Node]
	}
	r.mu.Lock()
	r.on[f.Number] = f
	r.mu.Unlock()
	r.say("%v", f)
	r.table.begins(f, r.requests(f))
	end, err := f.Kind.do(r, n, rand.New(rand.NewPCG(f.Seed, 0)))
	if err != nil {
		// Another fault may stand in its way: a worker that was just killed has no socket to be taken away.
		r.say("%v could not be done: %v", f, err)
		r.table.fails(f)
	}
	return end
}

// over ends a fault.
func (r *Run) over(f Fault, end func() error) {
	if end != nil {
		if err := end(); err != nil {
			r.t.Errorf("end %v: %v", f, err)
		}
	}
	r.mu.Lock()
	delete(r.on, f.Number)
	r.mu.Unlock()
	r.watch.over(f, time.Now())
	r.table.ends(f, r.requests(f))
}

// requests counts what was sent through the fault's node so far, or through all.
func (r *Run) requests(f Fault) int64 {
	sum := int64(0)
	for _, n := range r.nodes {
		if f.Node < 0 || r.nodes[f.Node] == n {
			sum += n.load.generator.Stats().Requests + n.secure.generator.Stats().Requests
		}
	}
	return sum
}
