package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
	"github.com/berth-proxy/berth/tests/link"
)

// stranded is how long a node may need to be current again once its network is good: what an attempt to connect and the longest pause take (10 s and 3 s), and what a busy
// machine adds.
const stranded = 40 * time.Second

// A linked node reaches its plane by a link of its own.
type linked struct {
	*rig.Node
	number int
	link   *link.Link
	// seen is the newest move that the worker has shown.
	seen atomic.Int64
	// took is how long the node needed when it was waited for last.
	took time.Duration

	mu sync.Mutex // guards back
	// back is what the worker showed that was older than what it had shown before.
	back []string
}

// join starts a node behind a link.
func join(t *testing.T, r *rig.Rig, h harness.HAProxy, name string, prepare func(*link.Link)) *linked {
	t.Helper()
	n := &linked{number: len(r.Nodes), link: link.New(t, r.Plane.NodeAddress)}
	if prepare != nil {
		prepare(n.link)
	}
	n.Node = &rig.Node{Fleet: "default", HAProxy: h, Agent: harness.StartAgent(t, harness.AgentOptions{
		Planes: []string{n.link.Address()}, Fleet: "default", Node: name, HAProxy: h.Path,
	})}
	r.Nodes = append(r.Nodes, n.Node)
	return n
}

// A mover replaces the endpoint of the service many-0 again and again, by one whose address tells the number of the move.
type mover struct {
	t       *testing.T
	rig     *rig.Rig
	backend string
	moves   atomic.Int64
}

// newMover waits until the plane has so many backends, that of many-0 among them.
func newMover(t *testing.T, r *rig.Rig, backends int) *mover {
	t.Helper()
	waitNil(t, "the plane to have read everything", func() error {
		f, err := r.FleetState("default")
		if err == nil && int(f.GetBackends()) < backends {
			err = fmt.Errorf("it has %d backends", f.GetBackends())
		}
		return err
	})
	m := &mover{t: t, rig: r}
	m.moves.Store(2)
	var err error
	m.backend, err = backendName(r, "many-0")
	r.Must(err)
	return m
}

// move is one change, counted once it is written.
func (m *mover) move() error {
	next := int(m.moves.Load()) + 1
	if err := m.rig.Put(rig.ManySlice(0, 1, next)); err != nil {
		return err
	}
	m.moves.Store(int64(next))
	return nil
}

// run moves ten times a second until ctx ends.
func (m *mover) run(ctx context.Context) {
	every(ctx, 100*time.Millisecond, func() {
		if err := m.move(); err != nil {
			m.t.Error(err)
		}
	})
}

// number is the move that an address tells of, 0 if none (see rig.ManyAddress).
func number(a netip.Addr) int64 {
	if !a.Is4() {
		return 0
	}
	b := a.As4()
	if b[0] != 198 || b[1] != 18 || b[2] < 64 {
		return 0
	}
	return int64(b[2]-64)<<8 + int64(b[3])
}

// watch looks at the worker's own answer until ctx ends: the newest move that it shows never goes back. (A worker that has just started may be some milliseconds behind the
// one before it, which goes on answering for a moment.)
func (n *linked) watch(ctx context.Context, m *mover) {
	shown := map[int]int64{}
	every(ctx, 20*time.Millisecond, func() {
		look, err := n.Look(m.backend)
		if err != nil {
			return // it has not started yet, or is being replaced
		}
		newest := int64(0)
		for _, s := range look.Servers {
			if s.State == haproxy.Ready {
				newest = max(newest, number(s.Address.Addr()))
			}
		}
		if before := shown[look.PID]; newest < before {
			n.mu.Lock()
			n.back = append(n.back, fmt.Sprintf("worker %d of %s showed move %d after %d", look.PID, n.Label(), newest, before))
			n.mu.Unlock()
			return
		}
		shown[look.PID] = newest
		n.seen.Store(max(n.seen.Load(), newest))
	})
}

// caught waits until the worker shows what was the newest when it is called.
func (n *linked) caught(m *mover) error {
	wanted, began := m.moves.Load(), time.Now()
	err := rig.Within(stranded, func() error {
		if seen := n.seen.Load(); seen < wanted {
			return fmt.Errorf("%s shows move %d and not %d, %v later", n.Label(), seen, wanted, time.Since(began).Round(time.Millisecond))
		}
		return nil
	})
	n.took = time.Since(began)
	return err
}

// check fails the test for what the worker showed that was older than what it had shown before.
func (n *linked) check(t *testing.T) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, b := range n.back {
		t.Error(b)
	}
}
