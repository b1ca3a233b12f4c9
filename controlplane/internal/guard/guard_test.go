package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everyService is a compiler for which each service of the store is a backend of the one fleet, and an Ingress touches those that it names.
type everyService struct{ store *store.Store }

func (c everyService) Reach(asked []source.Key) []compile.Reach {
	read := c.store.Read()
	all, touched := map[source.Key]struct{}{}, map[string]struct{}{}
	for s := range read.Sources() {
		for r := range read.RowsOf(s.Name) {
			if r.Kind == source.KindService {
				all[r.Key] = struct{}{}
			}
		}
	}
	for _, k := range asked {
		if _, there := all[k]; there {
			touched[k.Cluster+"/"+k.Name] = struct{}{}
		}
	}
	if len(touched) == 0 {
		return nil
	}
	return []compile.Reach{{Fleet: "default", Backends: len(all), Touched: slices.Sorted(maps.Keys(touched))}}
}

// rig is a guard in front of a store, in a bubble of its own time.
type rig struct {
	t     *testing.T
	store *store.Store
	guard *Guard
	log   bytes.Buffer
}

// inBubble runs a test with a guard that runs, and 20 services of a slice each in source home.
func inBubble(t *testing.T, test func(r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, store: store.New("home", "east")}
		r.guard = New(Config{Store: r.store, Compiler: everyService{r.store}, Log: zerolog.New(&r.log)})
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() {
			if err := r.guard.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		defer running.Wait()
		defer cancel()
		r.guard.Deliver(source.Batch{Source: "home", Full: true, Put: rows(site(0, 20)...), State: &source.State{Listed: true, Synced: true}})
		r.holds(0)
		test(r)
		synctest.Wait()
	})
}

// site is the words of some services with a slice each.
func site(from, to int) []string {
	var list []string
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprintf("service s%d", i), fmt.Sprintf("slice s%d-a s%d 10.0.0.%d", i, i, i))
	}
	return list
}

func (r *rig) gone(words ...string) {
	r.guard.Deliver(source.Batch{Source: "home", Gone: keys(words...)})
}
func (r *rig) put(words ...string) {
	r.guard.Deliver(source.Batch{Source: "home", Put: rows(words...)})
}

// pass lets the bubble's time go on.
func (r *rig) pass(d time.Duration) { <-time.After(d) }

// changes are those since it was last called.
func (r *rig) changes() store.Changes {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	changes, _, err := r.store.Next(ctx)
	if err != nil {
		r.t.Errorf("nothing has changed: %v", err)
	}
	return changes
}

// has says how many objects of home the store has.
func (r *rig) has(want int) {
	r.t.Helper()
	synctest.Wait()
	if got := len(slices.Collect(r.store.Read().RowsOf("home"))); got != want {
		r.t.Errorf("the store has %d objects, want %d", got, want)
	}
}

func (r *rig) holds(want int) Held {
	r.t.Helper()
	h, ok := r.guard.Held("home")
	if h.Objects != want || ok != (want > 0) {
		r.t.Errorf("%d objects are held back, want %d", h.Objects, want)
	}
	return h
}

func (r *rig) logged(want string) {
	r.t.Helper()
	synctest.Wait()
	if !strings.Contains(r.log.String(), want) {
		r.t.Errorf("the log does not say %q:\n%s", want, &r.log)
	}
}

// GUARD-1, GUARD-3: twelve of twenty services vanish: for ten seconds nothing goes, then all of it at once.
func TestGUARD1WhatIsHeldGoesInTheEnd(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.gone(site(0, 12)...)
		h := r.holds(24)
		if h.Backends != 12 || len(h.Names) != 10 || h.Names[0] != "EndpointSlice shop/s0-a" || h.Until.Sub(h.Since) != Hold || !h.Since.Equal(time.Now()) {
			t.Errorf("held: %+v", h)
		}
		r.logged("berthctl sources release home")
		r.changes() // the first list
		r.pass(Hold - time.Millisecond)
		r.has(40)
		r.pass(time.Millisecond)
		r.has(16)
		r.holds(0)
		r.logged("is removed")
		// The change counts from when it was let go: nobody else was slow.
		if c := r.changes(); len(c.Objects) != 24 || !c.Seen().Equal(time.Now()) {
			t.Errorf("%d changes, seen at %s, want 24 at %s", len(c.Objects), c.Seen(), time.Now())
		}
	})
}

// GUARD-1: nine go at once, and so do ten of more than twenty.
func TestGUARD1SmallLosses(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.put(site(20, 21)...)
		r.gone(site(0, 10)...)
		r.has(22)
		r.holds(0)
	})
	inBubble(t, func(r *rig) {
		r.gone(site(0, 9)...)
		r.has(22)
		r.gone(site(9, 10)...) // and one more, in another step
		r.has(20)
		r.holds(0)
	})
}

// GUARD-1: what went with the services is held with them: no half of a site is removed.
func TestGUARD1AsAWhole(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.put("ingress web s1 s2", "secret web", "service unused")
		r.gone(append(site(0, 12), "ingress web", "secret web")...)
		r.holds(26)
		r.has(43)
	})
}

// GUARD-2: what else the step says counts at once, also in a list.
func TestGUARD2AllElseFlows(t *testing.T) {
	for _, full := range []bool{false, true} {
		t.Run(fmt.Sprintf("full=%v", full), func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.put("slice s15-b s15 10.1.0.1")
				state := &source.State{Listed: true, Synced: true, Error: "a disk", StaleSince: time.Now()}
				problem := source.Problem{Object: row("service s19").Key, Severity: source.Warned, Reason: "odd"}
				// s15 loses a slice that another one replaces, s16 moves, s17 is emptied.
				changed := rows("slice s15-c s15 10.1.0.2", "slice s16-a s16 10.1.0.3", "slice s17-a s17", "service new")
				b := source.Batch{Source: "home", State: state, Put: changed, Reports: []source.Report{{Origin: "x", Problems: []source.Problem{problem}}}}
				gone := append(keys(site(0, 12)...), row("slice s15-b s15").Key)
				if full {
					b.Full = true
					for old := range r.store.Read().RowsOf("home") {
						if !slices.Contains(gone, old.Key) && !slices.ContainsFunc(changed, func(c source.Row) bool { return c.Key == old.Key }) {
							b.Put = append(b.Put, old)
						}
					}
				} else {
					b.Gone = gone
				}
				r.guard.Deliver(b)
				r.holds(24)
				r.has(42)
				read := r.store.Read()
				if read.Object(row("slice s15-b s15").Key) != nil || read.Object(row("service new").Key) == nil {
					t.Error("what was replaced is still there, or what is new is not")
				}
				if len(slices.Collect(read.ProblemsOf(problem.Object))) != 1 {
					t.Error("a report was held back")
				}
				if src, _ := read.Source("home"); src.State != *state {
					t.Errorf("the state is %+v", src.State)
				}
				r.pass(Hold)
				r.has(18)
			})
		})
	}
}

// GUARD-3: each growth starts the time again, be it one service, until the minute is over.
func TestGUARD3Growth(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.gone(site(0, 12)...)
		for i := 12; i < 18; i++ {
			r.pass(Hold - time.Second)
			r.has(40)
			r.gone(site(i, i+1)...)
		}
		r.pass(Bound - 6*(Hold-time.Second) - time.Millisecond)
		r.has(40)
		r.holds(36)
		r.pass(time.Millisecond)
		r.has(4)
		r.logged("more objects vanished")
	})
	inBubble(t, func(r *rig) {
		r.gone(site(0, 12)...)
		r.pass(time.Second)
		r.gone(site(12, 13)...)
		r.pass(Hold - time.Millisecond)
		r.has(40)
		r.pass(time.Millisecond)
		r.has(14)
	})
}

// GUARD-3: what touches no backend makes it no longer, and is not held.
func TestGUARD3WhatIsNoGrowth(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.put("secret idle", "slice s19-b s19 10.3.0.1")
		r.gone(site(0, 12)...)
		r.pass(Hold - time.Second)
		r.gone("secret idle")
		r.gone("slice s19-b s19")
		r.has(40)
		r.pass(time.Second)
		r.has(16)
	})
}

// GUARD-4: what comes back was never gone.
func TestGUARD4WhatComesBack(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.gone(site(0, 12)...)
		r.pass(time.Second)
		r.put(site(0, 4)...)
		r.holds(16)
		r.pass(time.Second)
		r.put(site(4, 12)...)
		r.holds(0)
		r.logged("is back")
		r.pass(Bound)
		r.has(40)
	})
	inBubble(t, func(r *rig) {
		r.gone(site(0, 12)...)
		r.put(site(0, 4)...)
		r.pass(Hold)
		r.has(24)
	})
}

// GUARD-5: an operator's word is done at once, and there is nothing to be said about nothing.
func TestGUARD5ByHand(t *testing.T) {
	inBubble(t, func(r *rig) {
		if _, err := r.guard.Release("home"); !errors.Is(err, ErrNothingHeld) {
			t.Errorf("with nothing held: %v", err)
		}
		r.gone(site(0, 12)...)
		if n, err := r.guard.Release("home"); n != 24 || err != nil {
			t.Errorf("%d objects, %v", n, err)
		}
		r.has(16)
		r.holds(0)
		r.logged("by hand")
	})
	inBubble(t, func(r *rig) {
		r.gone(site(0, 12)...)
		r.guard.Deliver(source.Batch{Source: "home", ByHand: true, Gone: keys(site(6, 20)...)})
		r.has(12)
		r.holds(12)
	})
}

// GUARD-6: sources deliver side by side, one of which is held back; what another one says is there at once, and in order.
func TestGUARD6SideBySide(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.gone(site(0, 12)...)
		var sources sync.WaitGroup
		for _, name := range []string{"east", "home"} {
			sources.Go(func() {
				for i := range 200 {
					s := row(fmt.Sprintf("slice s19-x s19 10.2.0.%d", i))
					s.Cluster = name
					r.guard.Deliver(source.Batch{Source: name, Put: []source.Row{s}})
					if got := r.store.Read().Object(s.Key); got != s.Object {
						t.Errorf("source %s, step %d: another object is there", name, i)
					}
				}
			})
		}
		sources.Go(func() {
			for range 200 {
				r.guard.Held("home")
			}
		})
		sources.Wait()
		r.holds(24)
	})
}
