package e2e

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
	"github.com/berth-proxy/berth/tests/loadgen"
)

// steady is the load of the tests in which something dies: all profiles.
func steady(r *rig.Rig, services ...string) loadgen.Config {
	return r.Load(300, loadgen.Mix(1), services...)
}

// P9. The agents are killed as kill -9 does, in the middle of a rolling restart, and started again. HAProxy serves on; the agent that comes back adopts the worker, learns what
// it missed and applies it: no request fails and nothing reloads.
func TestAgentKilledUnderLoad(t *testing.T) {
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 1)})
	d := r.Service("web", 3)
	r.WaitServed("web")
	r.WaitCurrent()
	workers := r.Workers()
	c := steady(r, "web")
	l := startLoad(t, c)

	restarting := make(chan error, 1)
	go func() {
		restarting <- d.RollingRestart(t.Context(), cluster.Ending{ServeOn: serveOn, Pause: 500 * time.Millisecond})
	}()
	for range 3 {
		for _, n := range r.Nodes {
			n.Kill()
		}
		// Endpoint changes come while no agent runs.
		during(t, 400*time.Millisecond)
		for _, n := range r.Nodes {
			n.Start(t)
		}
		during(t, 400*time.Millisecond)
	}
	r.Must(<-restarting)
	waitReady(t, r, d, "web")
	r.WaitCurrent()
	unharmed(t, l.end(), c)
	r.CheckSameWorkers(workers)
}

// P9. Without a plane an agent starts HAProxy from its own disk, with the slots as they were last.
func TestAgentStartsFromItsOwnDisk(t *testing.T) {
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 1)})
	d := r.Service("web", 2)
	r.WaitServed("web")
	r.Must(d.RollingRestart(t.Context(), cluster.Ending{AtOnce: true}))
	waitReady(t, r, d, "web")
	r.WaitCurrent()
	r.Plane.Stop(t)
	for _, n := range r.Nodes {
		n.Stop(t)
		n.StopHAProxy(t)
		n.Start(t)
	}
	r.WaitServed("web")
	for _, n := range r.Nodes {
		look, err := n.Look("")
		r.Must(err)
		for _, a := range d.Ready() {
			if !rig.Has(look.Servers, a, haproxy.Ready) {
				t.Errorf("%s: pod %s is not in a slot: %v", n.Label(), a, look.Servers)
			}
		}
	}
}

// P9. The plane is killed and started again, twice, while pods change. HAProxy and agents go on meanwhile; the plane that comes back goes above every epoch that a node has seen, and
// the nodes converge: no request fails.
func TestPlaneKilledUnderLoad(t *testing.T) {
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 1)})
	d, other := r.Service("web", 3), r.Service("other", 2)
	r.WaitServed("web")
	r.WaitServed("other")
	r.WaitCurrent()
	epoch := generationEpoch(t, r)
	c := steady(r, "web", "other")
	l := startLoad(t, c)
	above := func() {
		t.Helper()
		r.WaitCurrent()
		next := generationEpoch(t, r)
		if next <= epoch {
			t.Errorf("the plane that came back has epoch %d, the one before had %d", next, epoch)
		}
		epoch = next
	}
	r.Plane.Kill()
	r.Plane.Start(t)
	above()
	r.Plane.Kill()
	// What happens while nobody looks: pods are replaced, and serve on until the news can have arrived.
	restarting := make(chan error, 1)
	go func() { restarting <- d.RollingRestart(t.Context(), cluster.Ending{ServeOn: serveOn + 3*time.Second}) }()
	during(t, time.Second)
	r.Plane.Start(t)
	r.Must(<-restarting)
	waitReady(t, r, d, "web")
	above()
	restart(t, cluster.Ending{ServeOn: serveOn}, other)
	r.WaitCurrent()
	unharmed(t, l.end(), c)
}

func generationEpoch(t *testing.T, r *rig.Rig) uint64 {
	t.Helper()
	f, err := r.FleetState("new")
	r.Must(err)
	return f.GetGeneration().GetEpoch()
}

// P9. Silence is not deletion: the directory of the source goes away, and so does its content. Every route is served on with the last rows; the plane says that the
// source is stale. A file that is broken keeps its rows, too, while others change.
func TestSilenceIsNotDeletion(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "objects")
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 1), Cluster: cluster.Options{Dir: mkdir(t, dir)}})
	d := r.Service("web", 2)
	r.WaitServed("web")
	r.WaitCurrent()
	workers := r.Workers()
	c := r.Load(100, []loadgen.Load{{Profile: loadgen.NewConnections, Clients: 1}, {Profile: loadgen.KeepAlive, Clients: 1}}, "web")
	l := startLoad(t, c)

	r.Must(r.Write("ingress_shop_web.yaml", []byte("kind: Ingress\nmetadata: {name: web")))
	waitSource(t, r, true)
	r.Must(d.Scale(t.Context(), 3, cluster.Ending{}))
	waitReady(t, r, d, "web")
	r.Must(r.AddRoute(rig.Route("web")))
	waitSource(t, r, false)

	away := dir + ".away"
	r.Must(os.Rename(dir, away))
	waitSource(t, r, true)
	during(t, time.Second) // for as long as it likes
	r.WaitServed("web")
	r.Must(os.Rename(away, dir))
	waitSource(t, r, false)
	r.Must(d.Scale(t.Context(), 4, cluster.Ending{}))
	waitReady(t, r, d, "web")
	r.WaitCurrent()
	unharmed(t, l.end(), c)
	r.CheckSameWorkers(workers)
}

func mkdir(t *testing.T, dir string) string {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// waitSource waits until the plane says that its source is faulty, or that it is not.
func waitSource(t *testing.T, r *rig.Rig, faulty bool) {
	t.Helper()
	harness.WaitForNil(t, 20*time.Second, fmt.Sprintf("the source to be faulty: %v", faulty), func() error {
		wanted, err := r.Wanted("new")
		if err == nil && (len(wanted.Sources) != 1 || (wanted.Sources[0].Error != "") != faulty) {
			err = fmt.Errorf("the sources are %v", wanted.Sources)
		}
		return err
	})
}

// P5, P9. A worker that dies, a server that somebody changes by hand, a master that is started anew behind the agent's back: the agent notices and repairs what is not as the plane wants it.
func TestForeignHandsAreRepaired(t *testing.T) {
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 1)})
	d := r.Service("web", 2)
	r.WaitServed("web")
	r.WaitCurrent()
	for _, n := range r.Nodes {
		n.KillWorker(t)
	}
	r.WaitCurrent()
	r.WaitServed("web")
	waitReady(t, r, d, "web")
	for _, n := range r.Nodes {
		before, err := n.Worker()
		r.Must(err)
		reloadByHand(t, n.MasterSocket())
		harness.WaitFor(t, 20*time.Second, "a worker that the agent did not ask for", func() bool {
			now, err := n.Worker()
			return err == nil && now != before
		})
	}
	r.Must(d.RollingRestart(t.Context(), cluster.Ending{AtOnce: true}))
	waitReady(t, r, d, "web")
	r.WaitCurrent()
	free := netip.AddrPortFrom(haproxy.Placeholder, 1)
	for _, n := range r.Nodes {
		look, err := n.Look("")
		r.Must(err)
		for _, s := range look.Servers {
			if s.State == haproxy.Maint && s.Address != free {
				t.Errorf("%s: the free slot is %s", n.Label(), s)
			}
		}
	}
}
