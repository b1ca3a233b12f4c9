package soak

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
)

// A watch looks at plane and workers all the time, for what must never be, and for how new the workers are.
type watch struct {
	run *Run

	mu sync.Mutex // guards what follows
	// published are what the plane was seen to have published of each beacon, oldest first.
	published map[string][]publication
	nodes     []*watched
	// waiting are faults that are over, and whose next change is not yet in all of their nodes' workers.
	waiting []*recovering
	asked   int // of the plane
}

// A publication says that a beacon's table of a version has a tick.
type publication struct {
	version version
	tick    int
}

type version struct{ epoch, number uint64 }

func (v version) less(o version) bool {
	return v.epoch < o.epoch || v.epoch == o.epoch && v.number < o.number
}

// watched is what is known of a node.
type watched struct {
	// worker is the pid that it reported last, and first the generation that was reported when this pid was new: what is reported later is of this worker for sure.
	worker int64
	first  version
	// floor is, of each beacon, what the node has reported as applied of this worker.
	floor map[string]int
	// has is what the worker answered last, by beacon, and seats are the slots of all endpoints then.
	has   map[string]int
	seats map[string]string
	looks int
}

// recovering is a fault that is over.
type recovering struct {
	fault Fault
	end   time.Time
	// need is, of each node that it was about, the tick of which beacon it has to reach.
	need   map[int]int
	beacon string
}

const (
	lookEvery = 50 * time.Millisecond
	askEvery  = 100 * time.Millisecond
)

func newWatch(r *Run) *watch {
	w := &watch{run: r, published: map[string][]publication{}}
	for range r.nodes {
		w.nodes = append(w.nodes, &watched{floor: map[string]int{}, has: map[string]int{}})
	}
	return w
}

func (w *watch) start(ctx context.Context) {
	w.run.running.Go(func() {
		for wait(ctx, askEvery) {
			w.ask()
		}
	})
	for i, n := range w.run.nodes {
		w.run.running.Go(func() {
			for wait(ctx, lookEvery) {
				w.look(i, n)
			}
		})
	}
}

// ask asks the plane what it has published, and then what the nodes have applied of it. A plane that is away answers nothing, and nothing is looked at then.
func (w *watch) ask() {
	for _, b := range w.run.churn.beacons {
		answer, err := w.backend(b.backend)
		if err != nil {
			return
		}
		w.publish(b, answer)
	}
	nodes, err := w.run.Ask()
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	for i, n := range w.run.nodes {
		if seen := nodes[n.Node.Node]; seen != nil {
			w.reportedLocked(w.nodes[i], seen)
		}
	}
}

func (w *watch) backend(name string) (*adminv1.GetBackendResponse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return w.run.Admin().GetBackend(ctx, &adminv1.GetBackendRequest{Fleet: fleet, Backend: name})
}

// publish notes of which tick a beacon's table is.
func (w *watch) publish(b *beacon, answer *adminv1.GetBackendResponse) {
	newest := 0
	for _, s := range answer.GetSlots() {
		if s.GetState() == adminv1.SlotState_SLOT_STATE_READY {
			newest = max(newest, tickOf(s.GetAddress(), uint16(s.GetPort())))
		}
	}
	v := versionOf(answer.GetBackend().GetChanged())
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.published[b.backend]
	if n := len(all); n == 0 || all[n-1].version != v {
		w.published[b.backend] = append(all[max(0, n-maxPublished):], publication{v, newest})
	}
}

// maxPublished bounds what is remembered; a node is never so far behind.
const maxPublished = 2000

func versionOf(m *adminv1.Mark) version { return version{m.GetEpoch(), m.GetNumber()} }

// reportedLocked takes up what a node has reported as applied.
func (w *watch) reportedLocked(n *watched, seen *adminv1.Node) {
	now := versionOf(seen.GetGeneration())
	if seen.GetWorkerPid() != n.worker {
		n.worker, n.first, n.floor = seen.GetWorkerPid(), now, map[string]int{}
	}
	if seen.GetDirty() {
		return
	}
	for name, all := range w.published {
		for _, p := range slices.Backward(all) {
			if n.first.less(p.version) && !now.less(p.version) {
				n.floor[name] = max(n.floor[name], p.tick)
				break
			}
		}
	}
}

// seatsOf are the slots of the services' endpoints that take traffic, by backend and address. The further routes are left out: a backend that goes and comes again has a
// new table, and a worker may never have been without the old one.
func (w *watch) seatsOf(servers []haproxy.Server) map[string]string {
	seats := map[string]string{}
	for _, s := range servers {
		ours := slices.ContainsFunc(services, func(name string) bool { return strings.HasSuffix(s.Backend, rig.Namespace+"_"+name+"_80") })
		if ours && s.State != haproxy.Maint && s.Address.Addr().String() != nobody {
			seats[s.Backend+" "+s.Address.String()] = s.Name
		}
	}
	return seats
}

// look asks a worker what it has, and compares it with what was reported of it before (SOAK-2).
func (w *watch) look(i int, n *node) {
	w.mu.Lock()
	worker, floor := w.nodes[i].worker, map[string]int{}
	for name, tick := range w.nodes[i].floor {
		floor[name] = tick
	}
	w.mu.Unlock()
	seen, err := n.Look("")
	if err != nil {
		return // it is dead, or starts
	}
	at := time.Now()
	has := map[string]int{}
	for _, s := range seen.Servers {
		if s.State == haproxy.Ready {
			has[s.Backend] = max(has[s.Backend], tickOf(s.Address.Addr().String(), s.Address.Port()))
		}
	}
	for name, tick := range floor {
		if int64(seen.PID) == worker && has[name] < tick {
			w.run.violated("SOAK-2 nothing older than what was reported", at, "%s, worker %d has tick %d of %s, and had reported %d as applied", n.Label(), seen.PID, has[name], name, tick)
		}
	}
	for _, v := range haproxy.Violations(n.Watch(), seen.Servers) {
		w.run.violated("SOAK-3 slots", at, "%s: %s", n.Label(), v)
	}
	seats := w.seatsOf(seen.Servers)
	for endpoint, slot := range seats {
		if before, ok := w.nodes[i].seats[endpoint]; ok && before != slot {
			w.run.violated("SOAK-3 an endpoint keeps its slot", at, "%s, worker %d: %s was in slot %s and is in %s", n.Label(), seen.PID, endpoint, before, slot)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes[i].seats = seats // of this goroutine alone
	w.nodes[i].looks++
	w.nodes[i].has = has
	w.recoveredLocked(i, at)
}

// tickOf is the tick that a beacon's endpoint says, and something else for any other.
func tickOf(address string, port uint16) int {
	var high int
	if n, _ := fmt.Sscanf(address, "127.250.%d.1", &high); n == 0 {
		return 0
	}
	return high*ports + int(port) - firstPort
}

// over begins to wait for the first change after a fault.
func (w *watch) over(f Fault, end time.Time) {
	b := w.run.churn.beacons[0]
	if slices.Contains(f.Kind.Takes, away) {
		b = w.run.churn.beacons[len(w.run.churn.beacons)-1]
	}
	r := &recovering{fault: f, end: end, need: map[int]int{}, beacon: b.backend}
	for i := range w.nodes {
		if f.Node < 0 || f.Node == i {
			r.need[i] = b.written() + 1
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, r)
}

// recoveredLocked takes up that a node's worker has become newer.
func (w *watch) recoveredLocked(i int, at time.Time) {
	w.waiting = slices.DeleteFunc(w.waiting, func(r *recovering) bool {
		if need, ok := r.need[i]; ok && w.nodes[i].has[r.beacon] >= need {
			delete(r.need, i)
		}
		if len(r.need) > 0 {
			return false
		}
		w.run.table.converges(r.fault, at.Sub(r.end))
		return true
	})
}

// String says how often was looked.
func (w *watch) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := fmt.Sprintf("the plane was asked %d times, the workers", w.asked)
	for _, n := range w.nodes {
		text += fmt.Sprintf(" %d", n.looks)
	}
	return text + " times"
}
