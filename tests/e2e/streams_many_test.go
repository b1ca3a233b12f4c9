package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/link"
	"github.com/berth-proxy/berth/tests/loadgen"
	"github.com/berth-proxy/berth/tests/simnode"
)

// simulated is how many nodes there are beside the real ones.
const simulated = 500

// crowd is a fleet of two real nodes, one of each version, and of simulated ones with a connection each.
type crowd struct {
	*rig.Rig
	real  []*linked
	nodes *simnode.Group
	mover *mover
}

func newCrowdOf(t *testing.T, simulated int) *crowd {
	t.Helper()
	dir := t.TempDir()
	if err := rig.Many(cluster.New(cluster.Options{Dir: dir}).Dir, 50, true); err != nil {
		t.Fatal(err)
	}
	c := &crowd{Rig: rig.New(t, rig.Options{Cluster: cluster.Options{Dir: dir}})}
	c.Service("web", 2)
	c.mover = newMover(t, c.Rig, 51)
	for _, h := range []harness.HAProxy{harness.OldHAProxy(t), harness.NewHAProxy(t)} {
		n := join(t, c.Rig, h, "real-"+h.Version, nil)
		beside(t, func(ctx context.Context) { n.watch(ctx, c.mover) })
		c.real = append(c.real, n)
	}
	c.nodes = simnode.Start(t, simulated, func(i int) simnode.Options {
		return simnode.Options{Planes: []string{c.Plane.NodeAddress}, Fleet: "default", Name: fmt.Sprintf("simulated-%d", i)}
	})
	return c
}

// moved moves endpoints a few times, so that they sit where no plane would put them that does not know it, and waits until all nodes have that.
func (c *crowd) moved(t *testing.T, times int) {
	t.Helper()
	for range times {
		c.Must(c.mover.move())
		for _, n := range c.real {
			c.Must(n.caught(c.mover))
		}
	}
	c.current(t, time.Minute)
}

// current waits until the plane says that every node has all of the newest, and the nodes say that they hold the same.
func (c *crowd) current(t *testing.T, patience time.Duration) {
	t.Helper()
	all := uint32(len(c.nodes.Nodes) + len(c.real))
	harness.WaitForNil(t, patience, "every node to be current", func() error {
		f, err := c.FleetState("default")
		if err == nil && (f.GetNodesConnected() != all || f.GetGenerationApplied() != all || f.GetRevisionApplied() != all) {
			err = fmt.Errorf("of %d nodes %d are connected, %d have the generation and %d the revision", all, f.GetNodesConnected(), f.GetGenerationApplied(), f.GetRevisionApplied())
		}
		return err
	})
	c.nodes.WaitHeld(t, patience)
}

// sent is what the plane has sent to all nodes, as they count it.
type sent struct {
	simnode.Counts
	real int64
}

func (c *crowd) sent() sent {
	s := sent{Counts: c.nodes.Sum()}
	for _, n := range c.real {
		s.real += n.link.Passed(link.Down)
	}
	return s
}

// 6. A plane is killed that serves 500 nodes and two, and starts with nothing. All come back at once and are current within 30 s; a node that was current is sent no update, and one question
// for all of them tells where their endpoints sit. Then the same with an endpoint that moved meanwhile: each node is sent that, and no more.
func TestFiveHundredNodesComeBackAtOnce(t *testing.T) {
	c := newCrowdOf(t, simulated)
	c.moved(t, 5)
	load := c.Load(60, []loadgen.Load{{Profile: loadgen.NewConnections, Clients: 1}, {Profile: loadgen.KeepAlive, Clients: 1}}, "web")
	l := startLoad(t, load)
	workers := c.Workers()

	before := c.sent()
	c.Plane.Kill()
	during(t, time.Second)
	began := time.Now()
	c.Plane.Start(t)
	c.current(t, 30*time.Second)
	took := time.Since(began)
	after := c.sent()
	t.Logf("%d nodes were current %v after the plane's start: %d streams, %d asked to wait, %d asked for positions, %d bytes to the two real ones", simulated+2, took.Round(time.Millisecond),
		after.Streams-before.Streams, after.Waits-before.Waits, after.Positions-before.Positions, after.real-before.real)
	if took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	if after.Updates != before.Updates || after.Asked != before.Asked {
		t.Errorf("nodes that were current were sent %d updates (%d with everything) and asked %d times for buckets", after.Updates-before.Updates, after.Everything-before.Everything, after.Asked-before.Asked)
	}
	if n := after.Positions - before.Positions; n > 1 {
		t.Errorf("%d nodes that hold the same were asked for it", n)
	}
	if n := after.real - before.real; n > 2*16<<10 {
		t.Errorf("the two real nodes were sent %d bytes though they were current", n)
	}

	before = after
	c.Plane.Kill()
	c.Must(c.mover.move())
	began = time.Now()
	c.Plane.Start(t)
	for _, n := range c.real {
		c.Must(n.caught(c.mover))
	}
	c.current(t, 30*time.Second)
	after = c.sent()
	t.Logf("with a change meanwhile %v; %d updates of %d bytes in all", time.Since(began).Round(time.Millisecond), after.Updates-before.Updates, after.Bytes-before.Bytes)
	if n := after.Updates - before.Updates; n > 2*simulated || after.Everything != before.Everything {
		t.Errorf("%d updates were sent for one change, %d with everything", n, after.Everything-before.Everything)
	}
	if n := (after.Bytes - before.Bytes) / simulated; n > 4<<10 {
		t.Errorf("each node was sent %d bytes for one slot", n)
	}

	c.WaitCurrent()
	unharmed(t, l.end(), load)
	c.CheckSameWorkers(workers)
	c.nodes.Check(t)
	for _, n := range c.real {
		n.check(t)
	}
}
