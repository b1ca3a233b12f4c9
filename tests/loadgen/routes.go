package loadgen

import (
	"context"
	"sync"
)

// A routeBook holds the routes in force and knows which requests were sent by which (LOAD-5).
type routeBook struct {
	mu      sync.Mutex // guards current and every set's users
	current *routeSet
}

type routeSet struct {
	routes   []Route
	users    int
	replaced chan struct{} // closed when another set is in force
	unused   chan struct{} // closed when it was replaced and its last request has ended
}

func newRouteSet(routes []Route) *routeSet {
	return &routeSet{routes: routes, replaced: make(chan struct{}), unused: make(chan struct{})}
}

// take returns the set in force, waiting until there is a route; nil when ctx ends. The caller must leave it.
func (b *routeBook) take(ctx context.Context) *routeSet {
	for {
		b.mu.Lock()
		set := b.current
		if len(set.routes) > 0 {
			set.users++
			b.mu.Unlock()
			return set
		}
		b.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-set.replaced:
		}
	}
}

func (b *routeBook) leave(set *routeSet) {
	b.mu.Lock()
	defer b.mu.Unlock()
	set.users--
	if set.users == 0 && set != b.current {
		close(set.unused)
	}
}

// replace puts new routes in force and returns when no request by the old ones runs.
func (b *routeBook) replace(routes []Route) {
	b.mu.Lock()
	old := b.current
	b.current = newRouteSet(routes)
	close(old.replaced)
	if old.users == 0 {
		close(old.unused)
	}
	b.mu.Unlock()
	<-old.unused
}
