package engine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	"github.com/berth-proxy/berth/controlplane/internal/store"
)

// Config is what an Engine works with.
type Config struct {
	Store    *store.Store
	Compiler *compile.Compiler
	Nodes    *node.Registry
	// Fleets is where the engine publishes; it is the only one who writes there.
	Fleets *changelog.Directory
	Log    zerolog.Logger
	// Grace is how long after the start a fleet without history waits for its sources: 2 s if it is zero.
	Grace time.Duration
	// Limits bound each fleet's log.
	Limits changelog.Limits
}

// Engine is the loop.
type Engine struct {
	config  Config
	started time.Time
	fleets  map[string]*fleet
	// unread are the sources that have not been read in full since the start, by name; bare says that not one of them has an object.
	unread []string
	bare   bool
}

// New gives an engine.
func New(c Config) *Engine {
	if c.Grace <= 0 {
		c.Grace = 2 * time.Second
	}
	return &Engine{config: c, fleets: map[string]*fleet{}}
}

// news is what the store told of.
type news struct {
	changes store.Changes
	read    store.Read
}

// Run works until ctx ends, and returns nil then.
func (e *Engine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	incoming := make(chan news)
	var feeder sync.WaitGroup
	feeder.Go(func() { e.feed(ctx, incoming) })
	defer feeder.Wait()
	defer cancel()

	e.started = time.Now()
	grace := time.NewTimer(e.config.Grace)
	defer grace.Stop()
	for {
		// Taken before looking, so that what changes while the fleets are settled is seen in the next turn.
		nodes := e.config.Nodes.Changed()
		if !e.settle(time.Now()) {
			nodes = nil
		}
		select {
		case n := <-incoming:
			e.take(n)
		case <-nodes:
		case <-grace.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// feed carries changes from the store to the loop. While the loop works, the store merges.
func (e *Engine) feed(ctx context.Context, incoming chan<- news) {
	for {
		changes, read, err := e.config.Store.Next(ctx)
		if err != nil {
			return // the context's
		}
		select {
		case incoming <- news{changes, read}:
		case <-ctx.Done():
			return
		}
	}
}

// take compiles changes and notes what they change of each fleet.
func (e *Engine) take(n news) {
	e.unread, e.bare = nil, true
	for source := range n.read.Sources() {
		if !source.Synced {
			e.unread = append(e.unread, source.Name)
		}
		e.bare = e.bare && source.Empty()
	}
	for _, fc := range e.config.Compiler.Compile(n.read, n.changes) {
		if fc.Gone {
			delete(e.fleets, fc.Fleet)
			e.config.Log.Info().Str("fleet", fc.Fleet).Msg("the fleet is no more; its nodes keep what they have")
			continue
		}
		f := e.fleets[fc.Fleet]
		if f == nil {
			f = newFleet(fc.Fleet, changelog.New(e.config.Limits))
			e.fleets[fc.Fleet] = f
		}
		f.note(fc)
	}
}

// settle publishes what can be published now. It says whether what nodes tell can change that.
func (e *Engine) settle(now time.Time) (nodesMatter bool) {
	for _, name := range slices.Sorted(maps.Keys(e.fleets)) {
		f := e.fleets[name]
		e.judge(f, now)
		switch f.gate {
		case shut:
		case frozen:
			e.publish(f, false, now)
		case open:
			e.publish(f, true, now)
			e.release(f, now)
		}
		nodesMatter = nodesMatter || len(e.unread) > 0 || e.bare || len(f.retired) > 0
	}
	e.announce()
	return nodesMatter
}

// announce brings the directory up to date, if it is not.
func (e *Engine) announce() {
	next := make(map[string]changelog.Fleet, len(e.fleets))
	for name, f := range e.fleets {
		next[name] = changelog.Fleet{Name: name, Log: f.log, Waiting: f.waiting}
	}
	if !maps.Equal(next, e.config.Fleets.Fleets().All()) {
		e.config.Fleets.Set(next)
	}
}
