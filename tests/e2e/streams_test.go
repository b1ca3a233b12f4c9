package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/cluster/manifest"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
	"github.com/berth-proxy/berth/tests/link"
	"github.com/berth-proxy/berth/tests/loadgen"
)

// streamCase is what a network does to the stream of a node, which the case has for itself, while pods move and requests are sent. play returns when the node is current
// again, or why it is not.
type streamCase struct {
	name    string
	prepare func(*link.Link)
	play    func(ctx context.Context, r *rig.Rig, n *linked, m *mover) error
}

var streamCases = []streamCase{
	{"cut", nil, cutAgainAndAgain},
	{"slow", func(l *link.Link) { l.Slow(8_000) }, slowFromTheStart},
	{"no-answers", nil, func(ctx context.Context, _ *rig.Rig, n *linked, m *mover) error { return stopped(ctx, n, m, link.Up) }},
	{"no-updates", nil, func(ctx context.Context, _ *rig.Rig, n *linked, m *mover) error { return stopped(ctx, n, m, link.Down) }},
	{"twice", nil, twice},
	{"there-and-back", nil, thereAndBack},
}

func cutAgainAndAgain(ctx context.Context, _ *rig.Rig, n *linked, m *mover) error {
	for i := range 5 {
		wait(ctx, time.Duration(150+170*i)*time.Millisecond)
		n.link.Cut()
	}
	n.link.Refuse()
	n.link.Cut()
	wait(ctx, 3*time.Second)
	n.link.Restore()
	return n.caught(m)
}

// slowFromTheStart is a first snapshot at 8 KB/s. It takes longer than a stream may be silent, and more is under way than may be unanswered for long: slowness alone ends nothing.
func slowFromTheStart(_ context.Context, _ *rig.Rig, n *linked, m *mover) error {
	err := rig.Within(90*time.Second, func() error {
		if n.seen.Load() == 0 {
			return fmt.Errorf("%s shows nothing", n.Label())
		}
		return nil
	})
	if err != nil {
		return err
	}
	if connections, bytes := n.link.Connections(), n.link.Passed(link.Down); connections != 1 || bytes < 8_000*30 {
		return fmt.Errorf("%s needed %d connections for a snapshot of %d bytes, want one for what takes longer than a stream may be silent", n.Label(), connections, bytes)
	}
	return n.caught(m)
}

// stopped lets one direction carry nothing for longer than a stream may be silent.
func stopped(ctx context.Context, n *linked, m *mover, way link.Way) error {
	n.link.Stop(way)
	wait(ctx, 24*time.Second)
	n.link.Restore()
	return n.caught(m)
}

// twice lets the node reconnect while the plane sees its old connection with an update in flight; what the node has said there arrives late.
func twice(ctx context.Context, _ *rig.Rig, n *linked, m *mover) error {
	for range 4 {
		n.link.Stop(link.Up)
		if err := n.caught(m); err != nil { // it has the update in flight, and its answer is held back
			return err
		}
		n.link.Abandon()
		n.link.Go(link.Up)
		wait(ctx, 300*time.Millisecond)
		if err := n.caught(m); err != nil {
			return err
		}
		n.link.Restore() // and with it the old connection's answers
		if err := n.caught(m); err != nil {
			return err
		}
	}
	return nil
}

// thereAndBack changes a service from A to B and back to A while an update is in flight. It has never been B as far as the node goes.
func thereAndBack(ctx context.Context, r *rig.Rig, n *linked, m *mover) error {
	const a, b = 1, 2
	there := backAndForth + n.number
	backend, err := backendName(r, fmt.Sprintf("many-%d", there))
	if err != nil {
		return err
	}
	n.link.Stop(link.Up)
	wait(ctx, 500*time.Millisecond) // one update is in flight, and its answer is held back
	for _, endpoint := range []int{b, a} {
		if err := r.Put(rig.ManySlice(there, endpoint)); err != nil {
			return err
		}
		if err := rig.Within(stranded, func() error { return wantsOnly(r, backend, rig.ManyAddress(there, endpoint)) }); err != nil {
			return err
		}
	}
	var looked sync.WaitGroup
	defer looked.Wait()
	looking, end := context.WithCancel(ctx)
	defer end()
	sawB := false
	looked.Go(func() {
		every(looking, 2*time.Millisecond, func() {
			servers, err := haproxy.Servers(n.WorkerSocket(), backend)
			if err != nil {
				return
			}
			for _, s := range servers {
				sawB = sawB || s.Address.Addr().String() == rig.ManyAddress(there, b)
			}
		})
	})
	n.link.Restore()
	if err := n.caught(m); err != nil {
		return err
	}
	if servers, err := haproxy.Servers(n.WorkerSocket(), backend); err != nil || !hasOnly(servers, rig.ManyAddress(there, a)) {
		return fmt.Errorf("%s has %v of %s, %w", n.Label(), servers, backend, err)
	}
	end()
	looked.Wait()
	if sawB {
		return fmt.Errorf("%s was sent what was over before it could be sent", n.Label())
	}
	return nil
}

// backAndForth and the node's number are the number of the service that thereAndBack changes.
const backAndForth = 5000

// putBackAndForth makes the service that thereAndBack changes for a node.
func putBackAndForth(r *rig.Rig, n *linked) {
	name := fmt.Sprintf("many-%d", backAndForth+n.number)
	r.Must(r.Put(manifest.Service{
		Metadata: manifest.Meta{Namespace: rig.Namespace, Name: name}, Spec: manifest.ServiceSpec{Ports: []manifest.ServicePort{{Port: 80, TargetPort: 8080}}},
	}))
	r.Must(r.Put(rig.ManySlice(backAndForth+n.number, 1)))
	r.Must(r.AddRoute(rig.Route(name)))
}

// wantsOnly says whether a backend's only endpoint is at an address, as far as the plane goes.
func wantsOnly(r *rig.Rig, backend, address string) error {
	wanted, err := r.Wanted("default")
	if err != nil {
		return err
	}
	var taken []string
	for _, b := range wanted.Backends {
		for _, s := range b.Slots {
			if b.Name == backend && s.State != "free" {
				taken = append(taken, s.Address)
			}
		}
	}
	if len(taken) != 1 || taken[0] != address {
		return fmt.Errorf("the plane wants %s, and not %s alone", strings.Join(taken, ", "), address)
	}
	return nil
}

func backendName(r *rig.Rig, service string) (string, error) {
	wanted, err := r.Wanted("default")
	if err != nil {
		return "", err
	}
	b := wanted.Backend(rig.Namespace + "/" + service + ":80")
	if b == nil {
		return "", fmt.Errorf("there is no backend for %s", service)
	}
	return b.Name, nil
}

// wait is during without a test.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// Streams that are cut, slowed, stopped in one direction, and double: pods move all the while, and requests are sent through every node. Every node ends with the newest
// within a bounded time, its worker never shows anything older than what it has shown, and no request fails (P7, P9).
func TestStreamsInABadNetwork(t *testing.T) {
	dir := t.TempDir()
	const backends = 1200
	if err := rig.Many(cluster.New(cluster.Options{Dir: dir}).Dir, backends, true); err != nil {
		t.Fatal(err)
	}
	r := rig.New(t, rig.Options{Cluster: cluster.Options{Dir: dir}})
	r.Service("web", 2)
	m := newMover(t, r, backends+1)
	var nodes []*linked
	for _, h := range []harness.HAProxy{harness.OldHAProxy(t), harness.NewHAProxy(t)} {
		for _, c := range streamCases {
			n := join(t, r, h, c.name+"-"+h.Version, c.prepare)
			if c.name == "there-and-back" {
				putBackAndForth(r, n)
			}
			beside(t, func(ctx context.Context) { n.watch(ctx, m) })
			nodes = append(nodes, n)
		}
	}
	r.Must(m.move())
	for i, n := range nodes {
		if streamCases[i%len(streamCases)].prepare == nil {
			r.Must(n.caught(m))
		}
	}
	c := r.Load(100, []loadgen.Load{{Profile: loadgen.NewConnections, Clients: 2}, {Profile: loadgen.KeepAlive, Clients: 2}}, "web")
	var targets []loadgen.Target
	for _, target := range c.Targets {
		if !strings.HasPrefix(target.Name, "slow") { // those have no configuration yet
			targets = append(targets, target)
		}
	}
	c.Targets = targets
	l := startLoad(t, c)
	moving := beside(t, m.run)
	var playing sync.WaitGroup
	for i, n := range nodes {
		playing.Go(func() {
			began := time.Now()
			if err := streamCases[i%len(streamCases)].play(t.Context(), r, n, m); err != nil {
				t.Errorf("%s: %v", n.Label(), err)
			}
			t.Logf("%s: played in %v, current %v after its network was good, %d connections", n.Label(), time.Since(began).Round(time.Millisecond), n.took.Round(time.Millisecond), n.link.Connections())
		})
	}
	playing.Wait()
	moving.stop()
	r.WaitCurrent()
	unharmed(t, l.end(), c)
	for _, n := range nodes {
		r.Must(n.caught(m))
		n.check(t)
	}
	t.Logf("%d moves", m.moves.Load())
}

// hasOnly says whether the only server of a backend that is ready is at an address.
func hasOnly(servers []haproxy.Server, address string) bool {
	ready := 0
	for _, s := range servers {
		if s.State == haproxy.Ready {
			ready++
		}
	}
	a, err := netip.ParseAddr(address)
	return err == nil && ready == 1 && rig.Has(servers, netip.AddrPortFrom(a, 8080), haproxy.Ready)
}
