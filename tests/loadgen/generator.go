package loadgen

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// A Generator sends load until it is told to stop.
type Generator struct {
	config   Config
	routes   routeBook
	pace     pacer
	recorder *recorder
}

// New prepares a generator; nothing is sent before Run.
func New(config Config) (*Generator, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	g := &Generator{config: config, recorder: newRecorder(config.Seed)}
	g.routes.current = newRouteSet(config.Routes)
	if config.Rate > 0 {
		g.pace.every = time.Duration(float64(time.Second) / config.Rate)
	}
	return g, nil
}

// Run sends requests until ctx ends, waits for those that run (LOAD-4), and returns the counts.
func (g *Generator) Run(ctx context.Context) Stats {
	g.recorder.begin()
	var clients sync.WaitGroup
	number := uint64(0)
	for _, t := range g.config.Targets {
		for _, load := range g.config.Loads {
			for range load.Clients {
				l := &line{target: t, profile: load.Profile, recorder: g.recorder}
				for range max(1, load.Streams) {
					number++
					c := &client{
						target: t, profile: load.Profile, line: l, generator: g,
						random: rand.New(rand.NewPCG(g.config.Seed, number)),
					}
					clients.Go(func() { c.run(ctx) })
				}
			}
		}
	}
	clients.Wait()
	g.recorder.finish()
	return g.Stats()
}

// Stats returns the counts so far. It may be called at any time.
func (g *Generator) Stats() Stats { return g.recorder.snapshot() }

// SetRoutes replaces the routes and returns when no request by the old ones runs (LOAD-5): then a route that is not
// among the new ones may be taken out of the proxy. Without routes the generator waits.
func (g *Generator) SetRoutes(routes []Route) { g.routes.replace(routes) }

// A pacer hands out moments at an even rate.
type pacer struct {
	every time.Duration // zero: no limit

	mu   sync.Mutex // guards next
	next time.Time
}

func (p *pacer) wait(ctx context.Context) bool {
	if p.every == 0 {
		return ctx.Err() == nil
	}
	p.mu.Lock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	at := p.next
	p.next = p.next.Add(p.every)
	p.mu.Unlock()
	return sleep(ctx, at.Sub(now))
}

// sleep tells whether ctx still lives after it.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
