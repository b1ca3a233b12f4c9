package haproxy

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"
)

// Placeholder is the address of a free slot (RFC 5737).
var Placeholder = netip.MustParseAddr("192.0.2.1")

// A Watch names a worker that is sampled.
type Watch struct {
	Name      string
	Socket    string           // the worker's
	Listeners []netip.AddrPort // where this HAProxy listens; an unspecified address is every local one
	// AllowTwice permits an endpoint in two enabled slots of a backend: a node whose slots move, as after a restart of a
	// control plane that adopts nothing, enables before it disables.
	AllowTwice bool
}

// A Sampler looks at workers again and again while a test does something else, for what must never be true (HAP-3).
type Sampler struct {
	every   time.Duration
	watches []Watch

	mu         sync.Mutex // guards what follows
	samples    map[string]int
	violations []string
}

const maxViolations = 50

// NewSampler makes a sampler that looks at each worker once in every interval.
func NewSampler(every time.Duration, watches ...Watch) *Sampler {
	return &Sampler{every: every, watches: watches, samples: map[string]int{}}
}

// Run samples until ctx ends.
func (s *Sampler) Run(ctx context.Context) {
	var looks sync.WaitGroup
	for _, w := range s.watches {
		looks.Go(func() {
			ticks := time.NewTicker(s.every)
			defer ticks.Stop()
			for {
				s.look(w)
				select {
				case <-ctx.Done():
					return
				case <-ticks.C:
				}
			}
		})
	}
	looks.Wait()
}

// look takes one sample. A worker that does not answer is none: it may be starting, and a test asserts by Samples that
// enough of them were taken.
func (s *Sampler) look(w Watch) {
	servers, err := Servers(w.Socket, "")
	if err != nil {
		return
	}
	found := Violations(w, servers)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples[w.Name]++
	for _, v := range found {
		if len(s.violations) < maxViolations {
			s.violations = append(s.violations, fmt.Sprintf("%s %s: %s", time.Now().Format("15:04:05.000"), w.Name, v))
		}
	}
}

// Samples tells how many samples were taken of each worker.
func (s *Sampler) Samples() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	samples := map[string]int{}
	for name, n := range s.samples {
		samples[name] = n
	}
	return samples
}

// Violations returns what was found, oldest first, and never more than some dozens.
func (s *Sampler) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.violations...)
}

// Violations checks one sample.
func Violations(w Watch, servers []Server) []string {
	type place struct {
		backend string
		address netip.AddrPort
	}
	var found []string
	seen := map[place]Server{}
	for _, server := range servers {
		for _, l := range w.Listeners {
			if isListener(l, server.Address) {
				found = append(found, fmt.Sprintf("%s is HAProxy's own listener %s", server, l))
			}
		}
		if server.State == Maint {
			continue
		}
		if server.Address.Addr() == Placeholder {
			found = append(found, fmt.Sprintf("%s is an enabled placeholder", server))
		}
		at := place{server.Backend, server.Address}
		if other, ok := seen[at]; ok && !w.AllowTwice {
			found = append(found, fmt.Sprintf("%s and %s are the same endpoint", other, server))
		}
		seen[at] = server
	}
	return found
}

func isListener(l, server netip.AddrPort) bool {
	if l.Port() != server.Port() || !server.Addr().IsValid() {
		return false
	}
	return l.Addr() == server.Addr() || l.Addr().IsUnspecified() && (server.Addr().IsLoopback() || server.Addr().IsUnspecified())
}
