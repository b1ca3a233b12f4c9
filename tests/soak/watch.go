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

	mu    sync.Mutex // guards what follows
	nodes []*watched
	// waiting are faults that are over, and whose next change is not yet in all of their nodes' workers.
	waiting []*recovering
	asked   int // of the plane
}

// watched is what is known of a node.
type watched struct {
	// worker is the pid that it reported last, and first the digest of the generation that was reported when this pid was new: another one is of this worker for sure.
	worker int64
	first  string
	// floor is, of each beacon, what the node has reported as applied of this worker.
	floor map[string]int
	// has is what the worker answered last, by beacon, and seats are the slots of all endpoints then.
	has     map[string]int
	seats   map[string]string
	looks   int
	reports int // that raised the floor
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
	w := &watch{run: r}
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

// ask asks the plane for the beacons' ticks, then for the digest of all of its tables, and then what the nodes have reported: a node with that digest has these ticks, or newer
// ones. (Its number alone does not say so: while a source is missing, a node keeps that source's tables as it has them.) A plane that is away answers nothing, and nothing is
// looked at then.
func (w *watch) ask() {
	ticks := map[string]int{}
	for _, b := range w.run.churn.beacons {
		answer, err := w.backend(b.backend)
		if err != nil {
			return
		}
		for _, s := range answer.GetSlots() {
			if s.GetState() == adminv1.SlotState_SLOT_STATE_READY {
				ticks[b.backend] = max(ticks[b.backend], tickOf(s.GetAddress(), uint16(s.GetPort())))
			}
		}
	}
	newest, err := w.run.FleetState(fleet)
	if err != nil {
		return
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
			w.nodes[i].reported(seen, newest.GetGeneration().GetDigest(), ticks)
		}
	}
}

func (w *watch) backend(name string) (*adminv1.GetBackendResponse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return w.run.Admin().GetBackend(ctx, &adminv1.GetBackendRequest{Fleet: fleet, Backend: name})
}

// reported takes up what a node has reported as applied.
func (n *watched) reported(seen *adminv1.Node, newest string, ticks map[string]int) {
	digest := seen.GetGeneration().GetDigest()
	if seen.GetWorkerPid() != n.worker {
		n.worker, n.first, n.floor = seen.GetWorkerPid(), digest, map[string]int{}
	}
	if seen.GetDirty() || digest != newest || digest == n.first {
		return
	}
	n.reports++
	for name, tick := range ticks {
		n.floor[name] = max(n.floor[name], tick)
	}
}

// seatsOf are the slots of the services' ready endpoints, by backend and address. One that drains may have to give its slot up, and be given another later. The further routes are
// left out: a backend that goes and comes again has a new table, and a worker may never have been without the old one.
func (w *watch) seatsOf(servers []haproxy.Server) map[string]string {
	seats := map[string]string{}
	for _, s := range servers {
		ours := slices.ContainsFunc(services, func(name string) bool { return strings.HasSuffix(s.Backend, rig.Namespace+"_"+name+"_80") })
		if ours && s.State == haproxy.Ready && s.Address.Addr().String() != nobody {
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
	text := fmt.Sprintf("the plane was asked %d times; the workers, and how often they were known to have the newest:", w.asked)
	for _, n := range w.nodes {
		text += fmt.Sprintf(" %d and %d,", n.looks, n.reports)
	}
	return strings.TrimSuffix(text, ",")
}
