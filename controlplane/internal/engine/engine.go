package engine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/controlplane/internal/adoption"
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
	// Return is how long after the first node that came, of those that hold nothing, others that hold a revision are waited for while a source is missing: 10 s if it is
	// zero, three times what an agent waits at most before it comes back. Without it a new node that is the first would have half of a fleet's wishes published for all.
	Return time.Duration
	// Limits bound each fleet's log.
	Limits changelog.Limits
	// Adoption says how long the plane waits for the nodes to tell which slot is whose.
	Adoption adoption.Timing
	// Conflicts is told how many tables nodes have told differently under one version; it may be nil.
	Conflicts func(tables int)
}

// Engine is the loop.
type Engine struct {
	config  Config
	started time.Time
	fleets  map[string]*fleet
	// sources are all, by name. unread are those that have not been read in full since the start, and empty those that were and have never had an
	// object; bare says that not one of them has an object.
	sources, unread, empty []string
	bare                   bool
	// objects are the sources that were read and had an object.
	objects map[string]bool
	// told wakes the loop when a node has told what it holds.
	told chan struct{}
}

// New gives an engine.
func New(c Config) *Engine {
	if c.Grace <= 0 {
		c.Grace = 2 * time.Second
	}
	if c.Return <= 0 {
		c.Return = 10 * time.Second
	}
	return &Engine{config: c, fleets: map[string]*fleet{}, objects: map[string]bool{}, told: make(chan struct{}, 1)}
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
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		// Taken before looking, so that what changes while the fleets are settled is seen in the next turn.
		nodes := e.config.Nodes.Changed()
		nodesMatter, next := e.settle(time.Now())
		if !nodesMatter {
			nodes = nil
		}
		timer.Reset(time.Until(next))
		select {
		case n := <-incoming:
			e.take(n)
		case <-nodes:
		case <-e.told:
		case <-timer.C:
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
	e.readSources(n.read)
	for _, fc := range e.config.Compiler.Compile(n.read, n.changes) {
		if fc.Gone {
			delete(e.fleets, fc.Fleet)
			e.config.Log.Info().Str("fleet", fc.Fleet).Msg("the fleet is no more; its nodes keep what they have")
			continue
		}
		f := e.fleets[fc.Fleet]
		if f == nil {
			f = newFleet(fc.Fleet, changelog.New(e.config.Limits), adoption.New(e.config.Adoption, e.wake))
			e.fleets[fc.Fleet] = f
		}
		f.note(fc)
	}
}

// readSources notes what has been read.
func (e *Engine) readSources(read store.Read) {
	e.sources, e.unread, e.empty, e.bare = nil, nil, nil, true
	for source := range read.Sources() {
		forgotten := !source.Forgotten.IsZero()
		e.sources = append(e.sources, source.Name)
		switch {
		case !source.Synced, !source.Empty() && !e.objects[source.Name] && !source.StaleSince.IsZero():
			// One that was empty, and of which not everything can be read now that it is not, was mounted late: it has not been read in full either.
			e.unread = append(e.unread, source.Name)
		case !source.Empty():
			e.objects[source.Name] = true
		case !forgotten && !e.objects[source.Name]:
			e.empty = append(e.empty, source.Name)
		}
		e.bare = e.bare && source.Empty() && !forgotten
	}
}

// wake has the loop look again. It may be called from any goroutine.
func (e *Engine) wake() {
	select {
	case e.told <- struct{}{}:
	default:
	}
}

// settle publishes what can be published now. It says whether what nodes tell can change that, and when to look again without any news.
func (e *Engine) settle(now time.Time) (nodesMatter bool, next time.Time) {
	next = now.Add(time.Hour)
	look := func(at time.Time) {
		if at.After(now) && at.Before(next) {
			next = at
		}
	}
	look(e.started.Add(e.config.Grace))
	for _, name := range slices.Sorted(maps.Keys(e.fleets)) {
		f := e.fleets[name]
		adopting := f.adopting
		look(e.adopt(f, now))
		e.settleFleet(f, now)
		if f.adopting || adopting {
			// What has been published may be just what all nodes hold.
			look(e.adopt(f, now))
			e.settleFleet(f, now)
		}
		f.learnt()
		nodesMatter = nodesMatter || e.missing(f) != "" || len(f.retired) > 0
	}
	e.announce()
	return nodesMatter, next
}

// settleFleet publishes what can be published of one fleet.
func (e *Engine) settleFleet(f *fleet, now time.Time) {
	was := f.frozen
	if e.judge(f, now); was && !f.frozen {
		// What nodes keep is published in a moment; until then they are not to be sent it as if it were another table.
		f.thawing = true
		e.announce()
		f.thawing = false
	}
	switch f.gate {
	case shut:
	case frozen:
		e.publish(f, false, now)
	case open:
		e.publish(f, true, now)
		e.release(f, now)
	}
}

// announce brings the directory up to date, if it is not.
func (e *Engine) announce() {
	next := make(map[string]changelog.Fleet, len(e.fleets))
	for name, f := range e.fleets {
		next[name] = changelog.Fleet{
			Name: name, Log: f.log, Waiting: f.waiting, Adopting: f.adopting || f.thawing, Frozen: f.frozen, Adoption: f.adoption,
		}
	}
	if !maps.Equal(next, e.config.Fleets.Fleets().All()) {
		e.config.Fleets.Set(next)
	}
}
