package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
	"github.com/berth-proxy/berth/tests/loadgen"
)

// 4. With 5,000 backends a reload takes its time. An endpoint change that arrives during it is on the old worker before the new one serves, and on the new one as soon as that
// is met, whose configuration was written before the change: a reload never holds back an endpoint change (P5). One version of HAProxy reloads after the other, each for a
// route of a class that only its fleet serves.
func TestEndpointChangeDuringASlowReload(t *testing.T) {
	fleets := bothFleets(t, 1)
	for i := range fleets {
		fleets[i].Spec.IngressClasses = []string{cluster.IngressClass, fleets[i].Name}
	}
	r := rig.New(t, rig.Options{Fleets: fleets})
	r.Must(rig.Many(r.Dir, 5000, false))
	d := r.Service("web", 1)
	r.Service("other", 1)
	r.WaitServed("web")
	r.WaitCurrent()
	c := r.Load(200, []loadgen.Load{{Profile: loadgen.NewConnections, Clients: 2}, {Profile: loadgen.KeepAlive, Clients: 2}}, "web")
	l := startLoad(t, c)
	for _, n := range r.Nodes {
		changeDuringReload(t, r, n, d)
	}
	r.WaitCurrent()
	unharmed(t, l.end(), c)
}

// changeDuringReload reloads one node and adds a pod meanwhile.
func changeDuringReload(t *testing.T, r *rig.Rig, n *rig.Node, d *cluster.Deployment) {
	t.Helper()
	backend := backendOf(t, r, n.Fleet, "web")
	old, err := n.Worker()
	r.Must(err)
	route := rig.Route("other", "timeout-server", "41s")
	route.Name, route.Host, route.Class = n.Fleet, n.Fleet+".example.com", n.Fleet
	r.Must(r.AddRoute(route))
	waitForConfig(t, n, "timeout server 41s")
	// Now the new worker reads its configuration, which does not know the next pod.
	reloading := time.Now()
	r.Must(d.Scale(t.Context(), len(d.Pods())+1, cluster.Ending{}))
	pod := d.Pods()[len(d.Pods())-1].Config().Address
	var seen rig.Snapshot
	has := func() error {
		if seen, err = n.Look(backend); err == nil && !rig.Has(seen.Servers, pod, haproxy.Ready) {
			err = fmt.Errorf("worker %d has %v", seen.PID, seen.Servers)
		}
		return err
	}
	harness.WaitForNil(t, 20*time.Second, "the new pod on a worker", has)
	onOld := time.Since(reloading)
	if seen.PID != old.PID {
		t.Errorf("%s: the change waited for the new worker %d", n.Label(), seen.PID)
	}
	harness.WaitForNil(t, 20*time.Second, "the new worker", func() error {
		if seen, err = n.Look(backend); err == nil && seen.PID == old.PID {
			err = errors.New("the old one answers")
		}
		return err
	})
	served := time.Now()
	if err := rig.Within(time.Second, has); err != nil {
		t.Errorf("%s: the new worker lacks the change: %v", n.Label(), err)
	}
	t.Logf("%s: the old worker had the change after %v, the new one served after %v and had it %v later at most", n.Label(),
		onOld.Round(time.Millisecond), served.Sub(reloading).Round(time.Millisecond), time.Since(served).Round(time.Millisecond))
}

// backendOf is the name of a service's backend.
func backendOf(t *testing.T, r *rig.Rig, fleet, service string) string {
	t.Helper()
	wanted, err := r.Wanted(fleet)
	r.Must(err)
	b := wanted.Backend(rig.Namespace + "/" + service + ":80")
	if b == nil {
		t.Fatalf("there is no backend for %s", service)
	}
	return b.Name
}

// waitForConfig waits until the configuration in force has a text. The file is read when it was replaced only, for it is large.
func waitForConfig(t *testing.T, n *rig.Node, text string) {
	t.Helper()
	var last os.FileInfo
	harness.WaitForNil(t, 20*time.Second, fmt.Sprintf("the configuration of node %s to have %q", n.Node, text), func() error {
		now, err := os.Stat(filepath.Join(n.StateDir, "haproxy.cfg"))
		if err != nil || last != nil && os.SameFile(last, now) && last.ModTime().Equal(now.ModTime()) {
			return errors.Join(err, errors.New("it is as it was"))
		}
		last = now
		config, err := n.Config()
		if err == nil && !strings.Contains(config, text) {
			err = errors.New("it has not")
		}
		return err
	})
}
