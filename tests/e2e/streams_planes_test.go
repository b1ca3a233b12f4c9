package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/link"
	"github.com/berth-proxy/berth/tests/simnode"
)

// 5. Two planes serve the same and count each for itself, so that each in turn knows less than the nodes that come to it. Nodes that know both go from one to the other and back, with pods that
// move all the while: nobody is stranded, no worker is told anything older, and nothing reloads.
func TestNodesGoFromPlaneToPlane(t *testing.T) {
	dir := t.TempDir()
	if err := rig.Many(cluster.New(cluster.Options{Dir: dir}).Dir, 10, true); err != nil {
		t.Fatal(err)
	}
	r := rig.New(t, rig.Options{Cluster: cluster.Options{Dir: dir}})
	m := newMover(t, r, 10)
	other := harness.StartPlane(t, []string{"objects=dir:" + dir})
	links := []*link.Link{link.New(t, r.Plane.NodeAddress), link.New(t, other.NodeAddress)}
	links[1].Refuse()
	planes := []string{links[0].Address(), links[1].Address()}
	var nodes []*linked
	for i, h := range []harness.HAProxy{harness.OldHAProxy(t), harness.NewHAProxy(t)} {
		n := &linked{number: i, Node: &rig.Node{Fleet: "default", HAProxy: h, Agent: harness.StartAgent(t, harness.AgentOptions{
			Planes: planes, Fleet: "default", Node: "n-" + h.Version, HAProxy: h.Path,
		})}}
		r.Nodes = append(r.Nodes, n.Node)
		beside(t, func(ctx context.Context) { n.watch(ctx, m) })
		nodes = append(nodes, n)
	}
	group := simnode.Start(t, 20, func(i int) simnode.Options {
		return simnode.Options{Planes: planes, Fleet: "default", Name: fmt.Sprintf("simulated-%d", i)}
	})
	caught := func() {
		t.Helper()
		for _, n := range nodes {
			r.Must(n.caught(m))
		}
	}
	r.Must(m.move())
	caught()
	workers := r.Workers()
	moving := beside(t, m.run)
	for round := range 4 {
		gone, here := links[round%2], links[(round+1)%2]
		here.Restore()
		gone.Refuse()
		gone.Cut()
		during(t, 300*time.Millisecond)
		began := time.Now()
		caught() // with what has moved since the other plane is gone
		t.Logf("plane %d: current %v later", (round+1)%2, time.Since(began).Round(time.Millisecond))
		during(t, time.Second)
	}
	moving.stop()
	caught()
	group.WaitHeld(t, stranded)
	r.WaitCurrent()
	r.CheckSameWorkers(workers)
	group.Check(t)
	for _, n := range nodes {
		n.check(t)
	}
	if c := group.Sum(); c.Everything > len(group.Nodes) {
		t.Errorf("%d updates with everything were sent to %d nodes", c.Everything, len(group.Nodes))
	}
}

// 5. A plane comes back with less than its nodes have: its directory was restored from an older copy, and its counter starts again. What is in the directory is what is wanted, and every node
// ends with it, by a version that is newer than what it held.
func TestAPlaneThatComesBackWithAnOlderDirectory(t *testing.T) {
	c := newCrowdOf(t, 20)
	c.moved(t, 5)
	older := int(c.mover.moves.Load())
	c.moved(t, 3)
	held := c.nodes.Nodes[0].Held().Generation.Version
	c.Plane.Kill()
	c.Must(c.Put(rig.ManySlice(0, 1, older)))
	c.Plane.Start(t)
	harness.WaitForNil(t, stranded, "the nodes to have what the directory has", func() error {
		return wantsBoth(c.Rig, c.mover.backend, rig.ManyAddress(0, 1), rig.ManyAddress(0, older))
	})
	c.WaitCurrent()
	c.current(t, stranded)
	c.nodes.Check(t)
	for _, n := range c.nodes.Nodes {
		if now := n.Held().Generation.Version; now.Compare(held) <= 0 {
			t.Errorf("%s holds version %v, had %v before", n.Name(), now, held)
		}
	}
}

// wantsBoth says whether a backend's endpoints are these two, as far as the plane goes.
func wantsBoth(r *rig.Rig, backend, one, two string) error {
	wanted, err := r.Wanted("default")
	if err != nil {
		return err
	}
	got := map[string]bool{}
	for _, b := range wanted.Backends {
		for _, s := range b.Slots {
			if b.Name == backend && s.State != "free" {
				got[s.Address] = true
			}
		}
	}
	if len(got) != 2 || !got[one] || !got[two] {
		return fmt.Errorf("the plane wants %v", got)
	}
	return nil
}

// 5. Random faults on the links of 60 simulated nodes, and two restarts of their plane with nothing, while pods move. No node is sent anything older than it holds, nor anything that does not
// fit, and all hold the newest within a bounded time after the faults end.
func TestRandomFaultsOfManyStreams(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("BERTH_TEST_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d (BERTH_TEST_SEED)", seed)
	dir := t.TempDir()
	if err := rig.Many(cluster.New(cluster.Options{Dir: dir}).Dir, 100, true); err != nil {
		t.Fatal(err)
	}
	r := rig.New(t, rig.Options{Cluster: cluster.Options{Dir: dir}})
	m := newMover(t, r, 100)
	var links []*link.Link
	for range 20 {
		links = append(links, link.New(t, r.Plane.NodeAddress))
	}
	group := simnode.Start(t, 60, func(i int) simnode.Options {
		return simnode.Options{Planes: []string{links[i%len(links)].Address()}, Fleet: "default", Name: fmt.Sprintf("simulated-%d", i)}
	})
	group.WaitHeld(t, time.Minute)
	moving := beside(t, m.run)
	var playing sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
	defer cancel()
	for i, l := range links {
		playing.Go(func() { torment(ctx, l, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	for range 2 {
		wait(ctx, 4*time.Second)
		r.Plane.Kill()
		wait(ctx, 500*time.Millisecond)
		r.Plane.Start(t)
	}
	playing.Wait()
	for _, l := range links {
		l.Restore()
	}
	moving.stop()
	ended := time.Now()
	harness.WaitForNil(t, stranded, "all nodes to be current", func() error {
		f, err := r.FleetState("default")
		if err == nil && int(f.GetGenerationApplied()) != len(group.Nodes) {
			err = fmt.Errorf("%d of %d have the newest generation, %d are connected", f.GetGenerationApplied(), len(group.Nodes), f.GetNodesConnected())
		}
		return err
	})
	group.WaitHeld(t, stranded)
	sum := group.Sum()
	t.Logf("current %v after the faults ended, %d moves: %+v", time.Since(ended).Round(time.Millisecond), m.moves.Load(), sum)
	if sum.Streams < 3*len(group.Nodes) || sum.Updates < 10*len(group.Nodes) {
		t.Errorf("too little happened: %+v", sum)
	}
	group.Check(t)
}

// torment does something else to a link every now and then, until ctx ends.
func torment(ctx context.Context, l *link.Link, random *rand.Rand) {
	for ctx.Err() == nil {
		switch random.IntN(8) {
		case 0, 1:
			l.Cut()
		case 2:
			l.Slow(2000 + random.IntN(20000))
		case 3:
			l.Stop(link.Up)
		case 4:
			l.Stop(link.Down)
		case 5:
			l.Abandon()
		case 6:
			l.Go(link.Up)
			l.Go(link.Down)
			l.Slow(0)
		case 7:
			l.Restore()
		}
		wait(ctx, time.Duration(random.IntN(600))*time.Millisecond)
	}
}
