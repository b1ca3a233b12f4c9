package soak

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// A table is what was measured of each kind of fault.
type table struct {
	mu    sync.Mutex // guards what follows
	kinds map[string]*row
	start map[int]int64 // requests at a fault's begin
}

type row struct {
	count, undone int
	requests      int64
	converged     []time.Duration
}

func newTable() *table { return &table{kinds: map[string]*row{}, start: map[int]int64{}} }

func (t *table) row(f Fault, change func(*row)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.kinds[f.Kind.Name]
	if r == nil {
		r = &row{}
		t.kinds[f.Kind.Name] = r
	}
	change(r)
}

func (t *table) begins(f Fault, requests int64) {
	t.row(f, func(r *row) {
		r.count++
		t.start[f.Number] = requests
	})
}

func (t *table) fails(f Fault) { t.row(f, func(r *row) { r.undone++ }) }

func (t *table) ends(f Fault, requests int64) {
	t.row(f, func(r *row) {
		r.requests += requests - t.start[f.Number]
		delete(t.start, f.Number)
	})
}

// converges notes how long after a fault's end the first change that was made after it was in the workers.
func (t *table) converges(f Fault, took time.Duration) {
	t.row(f, func(r *row) { r.converged = append(r.converged, took) })
}

// String is the table for people.
func (t *table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%-32s %6s %9s %9s   %s\n", "fault", "count", "not done", "requests", "first change after its end in the workers, p50, max")
	for _, name := range slices.Sorted(maps.Keys(t.kinds)) {
		r := t.kinds[name]
		fmt.Fprintf(&b, "%-32s %6d %9d %9d   %s\n", name, r.count, r.undone, r.requests, spread(r.converged))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
