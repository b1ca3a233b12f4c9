package soak

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berth-proxy/berth/tests/loadgen"
)

// An account is who answers for a failed request (SOAK-1). Places are the nodes, then the yardsticks.
type account struct {
	nodes int

	mu       sync.Mutex // guards what follows
	failures []failure
	windows  []*window
	charged  map[string]*charge
	excused  int
}

// A failure is a failed request: when it was begun, and when it was known to have failed.
type failure struct {
	where       int
	begun, told time.Time
	what        loadgen.Failure
}

// A window is a time in which requests through a place may fail, for a fault has killed HAProxy there, until it serves again, or has done something to it that costs a plain
// one as much.
type window struct {
	where      int
	fault      string
	begin, end time.Time    // end is zero while it is open
	only       loadgen.Kind // the one way in which they may fail; empty for any
}

// A charge sums up what a kind of fault has cost.
type charge struct {
	failures map[bool]int // by whether it was a yardstick's
	downs    map[bool][]time.Duration
}

// near is how close to each other a node's and the yardstick's failures are the same event: a moment in which the machine was too busy.
const near = time.Second

// alike is how many failures at a node one of the yardstick answers for: both are sent as much, and what costs the one a request may cost the other some, but no row of them.
const alike = 4

// longest is more than a request may take.
const longest = 15 * time.Second

func newAccount(nodes int) *account { return &account{nodes: nodes, charged: map[string]*charge{}} }

// failed notes a failed request.
func (a *account) failed(where int, f loadgen.Failure, told time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failures = append(a.failures, failure{where, f.Time, told, f})
}

// open begins a window, and returns what ends it.
func (a *account) open(where int, fault string) func() { return a.openOnly(where, fault, "") }

// openOnly is open for one kind of failure.
func (a *account) openOnly(where int, fault string, only loadgen.Kind) func() {
	w := &window{where: where, fault: fault, begin: time.Now(), only: only}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.windows = append(a.windows, w)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		w.end = time.Now()
		yard := where >= a.nodes
		c := a.chargeLocked(fault)
		c.downs[yard] = append(c.downs[yard], w.end.Sub(w.begin))
	}
}

func (a *account) chargeLocked(fault string) *charge {
	c := a.charged[fault]
	if c == nil {
		c = &charge{map[bool]int{}, map[bool][]time.Duration{}}
		a.charged[fault] = c
	}
	return c
}

// answers says whether a failure is the window's.
func (w *window) answers(f failure) bool {
	return w.where == f.where && (w.only == "" || w.only == f.what.Kind) && !f.told.Before(w.begin) && (w.end.IsZero() || !f.begun.After(w.end))
}

// settle charges what failed since it was called last, and returns the failures that nobody answers for.
func (a *account) settle() []failure {
	a.mu.Lock()
	defer a.mu.Unlock()
	var open, yards []failure
	for _, f := range a.failures {
		i := slices.IndexFunc(a.windows, func(w *window) bool { return w.answers(f) })
		switch {
		case i >= 0:
			a.chargeLocked(a.windows[i].fault).failures[f.where >= a.nodes]++
		case f.where >= a.nodes:
			yards = append(yards, f)
		default:
			open = append(open, f)
		}
	}
	a.failures = nil
	a.windows = slices.DeleteFunc(a.windows, func(w *window) bool { return !w.end.IsZero() && time.Since(w.end) > longest })
	type answered struct{ yard, where int }
	answers := map[answered]int{}
	same := func(f failure) bool {
		for i, y := range yards {
			by := answered{i, f.where}
			if y.what.Kind == f.what.Kind && f.begun.Before(y.told.Add(near)) && y.begun.Before(f.told.Add(near)) && answers[by] < alike {
				answers[by]++
				return true
			}
		}
		return false
	}
	unanswered := slices.DeleteFunc(open, same)
	a.excused += len(open) - len(unanswered)
	return unanswered
}

// judge tells of the failures that nobody answers for.
func (a *account) judge(r *Run) {
	for _, f := range a.settle() {
		r.violated("SOAK-1 no failed request", f.begun, "%v (known %v later)", f.what, f.told.Sub(f.begun).Round(time.Millisecond))
	}
}

// String is a table of what the deaths of HAProxy have cost, beside the yardstick that died with it.
func (a *account) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%-32s %9s %9s %21s %21s\n", "what killed HAProxy", "failures", "plain", "down p50, max", "plain")
	for _, name := range slices.Sorted(maps.Keys(a.charged)) {
		c := a.charged[name]
		fmt.Fprintf(&b, "%-32s %9d %9d %21s %21s\n", name, c.failures[false], c.failures[true], spread(c.downs[false]), spread(c.downs[true]))
	}
	fmt.Fprintf(&b, "failures that the yardstick had at the same time: %d", a.excused)
	return b.String()
}

// spread is the median and the maximum.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "-"
	}
	all = slices.Sorted(slices.Values(all))
	return fmt.Sprintf("%d, %d ms", all[(len(all)-1)/2].Milliseconds(), all[len(all)-1].Milliseconds())
}
