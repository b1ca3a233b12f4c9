package guard

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/store"
)

// Compiler tells how far the loss of some objects would go; *compile.Compiler does.
type Compiler interface {
	Reach(keys []source.Key) []compile.Reach
}

// Config is what a Guard works with.
type Config struct {
	Store *store.Store
	// Compiler knows what depends on an object.
	Compiler Compiler
	Log      zerolog.Logger
	// Now is the clock, which must go with time: time.Now if it is nil.
	Now func() time.Time
}

// Guard is the sink of all sources. Any number of them may deliver at once; Run applies what was held for its time.
type Guard struct {
	config Config

	// wake holds a token when a hold has begun or grown: it is a level, not a queue.
	wake chan struct{}

	mu      sync.Mutex // guards sources, not what is in them
	sources map[string]*watched
}

// watched is one source.
type watched struct {
	name string
	// mu is held while a batch is judged and put into the store, so that nothing overtakes it (GUARD-6). The store waits for nobody.
	mu   sync.Mutex
	hold hold
	// told is when it was last logged that the hold grows.
	told time.Time
}

var _ source.Sink = (*Guard)(nil)

// New gives a guard in front of a store.
func New(c Config) *Guard {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Guard{config: c, wake: make(chan struct{}, 1), sources: map[string]*watched{}}
}

func (g *Guard) source(name string) *watched {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.sources[name]
	if w == nil {
		w = &watched{name: name}
		g.sources[name] = w
	}
	return w
}

// Deliver passes a batch on to the store, without what it holds back.
func (g *Guard) Deliver(b source.Batch) {
	w := g.source(b.Source)
	g.say(g.deliver(w, b))
}

func (g *Guard) deliver(w *watched, b source.Batch) event {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := event{source: w.name}
	if w.hold.active() {
		if e.back = w.hold.back(b.Put); e.back > 0 && !w.hold.active() {
			e.what = cameBack
		}
	}
	switch {
	case b.ByHand:
		w.hold.forget(b)
	case b.Full || len(b.Gone) > 0:
		g.judge(w, &b, &e)
	}
	g.config.Store.Apply(b)
	e.held = len(w.hold.keys)
	return e
}

// judge takes out of a batch what is held back.
func (g *Guard) judge(w *watched, b *source.Batch, e *event) {
	read := g.config.Store.Read()
	gone := b.Gone
	if b.Full {
		gone = missing(read, *b)
		gone = slices.DeleteFunc(gone, func(k source.Key) bool { _, held := w.hold.keys[k]; return held })
	}
	loss := newStep(read, b.Put, gone, w.hold.keys).loss()
	if len(loss) > 0 {
		g.weigh(w, read, loss, e)
	}
	if !w.hold.active() {
		return
	}
	b.Gone = slices.DeleteFunc(gone, func(k source.Key) bool { _, held := w.hold.keys[k]; return held })
	if b.Full {
		// A list says what there is; what is held is still there.
		b.Gone = nil
		for k := range w.hold.keys {
			if object := read.Object(k); object != nil {
				b.Put = append(b.Put, source.Row{Key: k, Object: object})
			}
		}
	}
}

// weigh begins a hold with a loss, or adds it to the one that goes on.
func (g *Guard) weigh(w *watched, read store.Read, loss []source.Key, e *event) {
	reach := g.config.Compiler.Reach(dependedOn(read, loss))
	now := g.config.Now()
	switch {
	case w.hold.active() && len(reach) > 0:
		w.hold.grow(loss, now)
		e.what, w.told = grew, quiet(w.told, now, e)
	case !w.hold.active() && tooFar(reach):
		w.hold.begin(loss, now)
		e.what, w.told = began, now
	default:
		return
	}
	e.loss, e.backends, e.until = loss, backends(reach), w.hold.until
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// missing are the rows of the source that a full list is without.
func missing(read store.Read, b source.Batch) []source.Key {
	listed := make(map[source.Key]struct{}, len(b.Put))
	for _, row := range b.Put {
		listed[row.Key] = struct{}{}
	}
	var gone []source.Key
	for row := range read.RowsOf(b.Source) {
		if _, there := listed[row.Key]; !there {
			gone = append(gone, row.Key)
		}
	}
	return gone
}

// Run applies each hold when its time has come, until ctx ends, and returns nil then. What is held at the end stays as it is.
func (g *Guard) Run(ctx context.Context) error {
	timer := time.NewTimer(Hold)
	defer timer.Stop()
	for {
		timer.Reset(g.expire())
		select {
		case <-ctx.Done():
			return nil
		case <-g.wake:
		case <-timer.C:
		}
	}
}

// expire applies what is due and says when to look again.
func (g *Guard) expire() time.Duration {
	now, next := g.config.Now(), Bound
	for _, w := range g.all() {
		w.mu.Lock()
		due, until := w.hold.due(now), w.hold.until.Sub(now)
		active := w.hold.active()
		removed := 0
		if due {
			removed = g.apply(w, now)
		}
		w.mu.Unlock()
		if due {
			g.say(event{source: w.name, what: expired, removed: removed})
		} else if active {
			next = min(next, until)
		}
	}
	return next
}

func (g *Guard) all() []*watched {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]*watched, 0, len(g.sources))
	for _, w := range g.sources {
		list = append(list, w)
	}
	return list
}

// apply removes what is held of a source, whose mutex is held. The change counts as seen now: nobody held it up but the guard.
func (g *Guard) apply(w *watched, now time.Time) int {
	gone := w.hold.sorted()
	w.hold = hold{}
	g.config.Store.Apply(source.Batch{Source: w.name, Seen: now, Gone: gone})
	return len(gone)
}

// ErrNothingHeld is Release's answer when nothing is held back of the source.
var ErrNothingHeld = errors.New("nothing is held back")

// Release applies at once what is held back of a source, and returns how many objects went (GUARD-5).
func (g *Guard) Release(name string) (removed int, err error) {
	w := g.source(name)
	w.mu.Lock()
	if !w.hold.active() {
		w.mu.Unlock()
		return 0, ErrNothingHeld
	}
	removed = g.apply(w, g.config.Now())
	w.mu.Unlock()
	g.say(event{source: name, what: released, removed: removed})
	return removed, nil
}

// Held is what is held back of one source.
type Held struct {
	// Objects is how many objects are held back, and Backends how many backends of all fleets depend on them.
	Objects, Backends int
	// Names are those of the first objects, "Kind namespace/name".
	Names        []string
	Since, Until time.Time
}

// maxNames bounds how many objects are named.
const maxNames = 10

// Held says what is held back of a source; ok is false when nothing is.
func (g *Guard) Held(name string) (held Held, ok bool) {
	g.mu.Lock()
	w := g.sources[name]
	g.mu.Unlock()
	if w == nil {
		return Held{}, false
	}
	w.mu.Lock()
	keys := w.hold.sorted()
	held = Held{Objects: len(keys), Since: w.hold.since, Until: w.hold.until}
	w.mu.Unlock()
	if len(keys) == 0 {
		return Held{}, false
	}
	held.Names = names(keys, maxNames)
	held.Backends = backends(g.config.Compiler.Reach(dependedOn(g.config.Store.Read(), keys)))
	return held, true
}

func names(keys []source.Key, limit int) []string {
	list := make([]string, 0, limit)
	for _, k := range keys[:min(len(keys), limit)] {
		list = append(list, k.String())
	}
	return list
}
