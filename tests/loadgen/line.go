package loadgen

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// A line is the one connection that a client keeps, or that the clients of one HTTP/2 connection share.
type line struct {
	target   Target
	profile  Profile
	recorder *recorder

	// mu guards now and every held's counts. It is held while a connection is opened: whoever waits for it needs that
	// connection.
	mu  sync.Mutex
	now *held
}

// held is a connection and its users. When it is no longer the line's, its last user closes it.
type held struct {
	link     link
	host     string
	opened   time.Time
	idle     time.Time // when its last user released it
	requests int
	users    int
}

// use is one request's hold on a connection.
type use struct {
	held   *held
	before int // the requests that it carried before
}

// acquire picks a route and a connection for it: the line's, or a new one if there is none or it closed while idle
// (LOAD-2). A TLS connection carries only requests to the host that it was opened for. Each use must be released.
func (l *line) acquire(ctx context.Context, routes []Route, random *rand.Rand) (Route, use, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now != nil && l.target.TLS {
		if mine := toHost(l.now.host, routes); len(mine) > 0 {
			routes = mine
		} else {
			l.retireLocked()
		}
	}
	route := routes[random.IntN(len(routes))]
	if l.now != nil && l.profile.MaxIdle > 0 && l.now.users == 0 && time.Since(l.now.idle) > l.profile.MaxIdle {
		l.retireLocked()
		l.recorder.aged()
	}
	if l.now != nil {
		if ok, err := l.now.link.usable(); !ok {
			l.retireLocked()
			if err != nil {
				return route, use{}, err
			}
			l.recorder.reopened()
		}
	}
	if l.now == nil {
		opened := time.Now()
		link, err := dial(ctx, l.target, l.profile, route.Host)
		if err != nil {
			return route, use{}, err
		}
		l.now = &held{link: link, host: route.Host, opened: opened}
	}
	h := l.now
	h.users++
	h.requests++
	return route, use{held: h, before: h.requests - 1}, nil
}

// release ends a use. A connection that is not to be kept is no longer the line's.
func (l *line) release(h *held, keep bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h.users--
	h.idle = time.Now()
	if h == l.now && !keep {
		l.now = nil
	}
	if h != l.now && h.users == 0 {
		h.link.close()
	}
}

func (l *line) retireLocked() {
	if l.now.users == 0 {
		l.now.link.close()
	}
	l.now = nil
}

// drop lets the connection go when its client, or one of its clients, ends.
func (l *line) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now != nil && l.now.users == 0 {
		l.retireLocked()
	}
}

func toHost(host string, routes []Route) []Route {
	var found []Route
	for _, r := range routes {
		if r.Host == host {
			found = append(found, r)
		}
	}
	return found
}
