package node

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Retention is how long a node that is away is remembered, and MaxAway how many such nodes are: an agent that takes a new name at each start must not
// fill the plane.
const (
	Retention = 24 * time.Hour
	MaxAway   = 20000
)

// Registry is the records of all nodes.
type Registry struct {
	now func() time.Time

	mu       sync.Mutex
	nodes    map[Key]*record
	sequence uint64
	changed  chan struct{}
	swept    time.Time
	// inUse counts for each fleet how many times a revision is held or run, so that who asks need not look at every node.
	inUse map[string]map[wire.Mark]int
}

// record is one node. Its view is replaced, never written into, where readers share memory with it.
type record struct {
	view    View
	session *Session
	// counted are the revisions that inUse has of it.
	counted []wire.Mark
}

// New gives an empty registry with this clock.
func New(now func() time.Time) *Registry {
	return &Registry{now: now, nodes: map[Key]*record{}, changed: make(chan struct{}), swept: now(), inUse: map[string]map[wire.Mark]int{}}
}

// Changed is closed at the next change. Who takes it before looking misses none.
func (r *Registry) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// Newest is the Sequence of the newest change of any node.
func (r *Registry) Newest() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sequence
}

// List returns the nodes of a fleet, of all fleets if it is empty, by fleet and name.
func (r *Registry) List(fleet string) []View {
	r.mu.Lock()
	views := make([]View, 0, len(r.nodes))
	for key, n := range r.nodes {
		if fleet == "" || key.Fleet == fleet {
			views = append(views, n.view)
		}
	}
	r.mu.Unlock()
	slices.SortFunc(views, func(a, b View) int { return cmp.Or(cmp.Compare(a.Fleet, b.Fleet), cmp.Compare(a.Name, b.Name)) })
	return views
}

// Get returns a node.
func (r *Registry) Get(key Key) (View, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.nodes[key]; n != nil {
		return n.view, true
	}
	return View{}, false
}

// InUse lists the revisions that nodes of the fleet run or hold, each once, in no order. The zero Mark, of a node that has none, is left out.
func (r *Registry) InUse(fleet string) []wire.Mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep()
	return slices.Collect(maps.Keys(r.inUse[fleet]))
}

// count brings inUse up to date with what n has; of a record that goes with nothing.
func (r *Registry) count(fleet string, n *record, has ...wire.Mark) {
	if slices.Equal(n.counted, has) {
		return
	}
	marks := r.inUse[fleet]
	if marks == nil {
		marks = map[wire.Mark]int{}
		r.inUse[fleet] = marks
	}
	for _, m := range has {
		if m != (wire.Mark{}) {
			marks[m]++
		}
	}
	for _, m := range n.counted {
		if marks[m]--; marks[m] <= 0 {
			delete(marks, m)
		}
	}
	if len(marks) == 0 {
		delete(r.inUse, fleet)
	}
	n.counted = has
}

func (r *Registry) forgotten(n *record) bool {
	return !n.view.Connected && r.now().Sub(n.view.LastHeard) > Retention
}

// Connect makes a stream with this Hello, which has been checked, the one that speaks for the node.
func (r *Registry) Connect(h *fleetv1.Hello, address string) *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep()
	s := &Session{registry: r, key: Key{h.GetFleet(), h.GetNode()}, replaced: make(chan struct{})}
	n := r.nodes[s.key]
	if n == nil {
		n = &record{}
		r.nodes[s.key] = n
	}
	if n.session != nil {
		close(n.session.replaced)
	}
	n.session = s
	now := r.now()
	held, applied := marks(h.GetHeld()), marks(h.GetApplied())
	n.view = View{
		Key: s.key, Connected: true, ConnectedSince: now, LastHeard: now, Address: address,
		AgentVersion: h.GetAgentVersion(), HAProxyVersion: h.GetHaproxy().GetVersion(), Capabilities: h.GetHaproxy().GetCapabilities(),
		Held: held, Applied: applied, Dirty: h.GetDirty(), WorkerPID: h.GetWorker().GetPid(),
		// What the node was known for before and does not say again in its Hello.
		Excepted: n.view.Excepted, Latency: n.view.Latency,
		OldWorkers: n.view.OldWorkers, Reloads: n.view.Reloads, Drifts: n.view.Drifts, WorkerRestarts: n.view.WorkerRestarts,
	}
	for _, x := range h.GetRejected() {
		n.view.reject(x.GetDigest(), Problem{x.GetCode(), x.GetMessage()})
	}
	r.touch(n)
	return s
}

// touch says that n changed.
func (r *Registry) touch(n *record) {
	r.count(n.view.Fleet, n, n.view.Held.Revision, n.view.Applied.Revision)
	r.sequence++
	n.view.Sequence = r.sequence
	close(r.changed)
	r.changed = make(chan struct{})
}

// sweep forgets nodes that have been away for long, and of too many those that have been away for longest. It looks once a minute at most, because it
// looks at all of them.
func (r *Registry) sweep() {
	if r.now().Sub(r.swept) < time.Minute {
		return
	}
	r.swept = r.now()
	var away []View
	for key, n := range r.nodes {
		switch {
		case r.forgotten(n):
			r.forget(key)
		case !n.view.Connected:
			away = append(away, n.view)
		}
	}
	if len(away) <= MaxAway {
		return
	}
	slices.SortFunc(away, func(a, b View) int { return a.LastHeard.Compare(b.LastHeard) })
	for _, v := range away[:len(away)-MaxAway] {
		r.forget(v.Key)
	}
}

func (r *Registry) forget(key Key) {
	r.count(key.Fleet, r.nodes[key])
	delete(r.nodes, key)
}

// marks reads marks that have been checked.
func marks(p *fleetv1.Marks) wire.Marks {
	m, err := wire.MarksFrom(p)
	if err != nil {
		panic("BUG: marks that were not checked: " + err.Error())
	}
	return m
}
