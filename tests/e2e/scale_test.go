package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
	"github.com/berth-proxy/berth/tests/loadgen"
)

// 6. One backend goes to 1,000 endpoints, to none, and comes back. Each of the thousand has a slot of its own in each worker; with none a request is answered 503
// at once, and nothing reloads for going and coming back.
func TestAThousandEndpointsAndNone(t *testing.T) {
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 1)})
	d := r.Service("web", 1)
	r.WaitServed("web")
	r.WaitCurrent()
	r.Must(d.Scale(t.Context(), 1000, cluster.Ending{}))
	started := time.Now()
	waitReady(t, r, d, "web")
	t.Logf("1,000 endpoints stood in the slots of all workers %v after they were written", time.Since(started).Round(time.Millisecond))
	r.WaitCurrent()
	workers := r.Workers()
	r.WaitServed("web")

	r.Must(d.Scale(t.Context(), 0, cluster.Ending{AtOnce: true}))
	r.WaitAnswer(rig.Host("web"), "/", rig.Answer{Status: http.StatusServiceUnavailable})
	waitReady(t, r, d, "web")
	for _, n := range r.Nodes {
		start := time.Now()
		if got, err := n.Get(rig.Host("web"), "/"); err != nil || got.Status != http.StatusServiceUnavailable || time.Since(start) > 300*time.Millisecond {
			t.Errorf("%s without endpoints answers %+v, %v, after %v", n.Label(), got, err, time.Since(start))
		}
	}
	r.Must(d.Scale(t.Context(), 3, cluster.Ending{}))
	r.WaitServed("web")
	waitReady(t, r, d, "web")
	r.WaitCurrent()
	r.CheckSameWorkers(workers)
}

// waitReady waits until the ready servers of a service's backend are the deployment's ready pods, on every worker.
func waitReady(t *testing.T, r *rig.Rig, d *cluster.Deployment, service string) {
	t.Helper()
	for _, n := range r.Nodes {
		backend := backendOf(t, r, n.Fleet, service)
		harness.WaitForNil(t, 30*time.Second, fmt.Sprintf("%s to have the pods of %s", n.Label(), service), func() error {
			servers, err := haproxy.Servers(n.WorkerSocket(), backend)
			if err != nil {
				return err
			}
			ready := 0
			for _, s := range servers {
				if s.State == haproxy.Ready {
					ready++
				}
			}
			pods := d.Ready()
			for _, a := range pods {
				if !rig.Has(servers, a, haproxy.Ready) {
					return fmt.Errorf("pod %s of %d is not there (%d servers are ready)", a, len(pods), ready)
				}
			}
			if ready != len(pods) {
				return fmt.Errorf("%d servers are ready, want %d", ready, len(pods))
			}
			return nil
		})
	}
}

// 6. A table grows under load as its deployment goes from 3 to 9 to 40 pods. Where servers may be added nothing reloads; with --add-servers=false the node reloads for it, reason
// slots. Neither fails a request: P4.
func TestAGrowingTable(t *testing.T) {
	var fleets []rig.Fleet
	for _, f := range bothFleets(t, 1) {
		without := f
		without.Flags = []string{"--add-servers=false"}
		fleets = append(fleets, f, without)
	}
	r := rig.New(t, rig.Options{Fleets: fleets})
	d := r.Service("web", 3)
	r.WaitServed("web")
	r.WaitCurrent()
	before, reloads := r.Workers(), map[*rig.Node]int{}
	for _, n := range r.Nodes {
		var err error
		reloads[n], err = n.Reloads()
		r.Must(err)
	}
	sampler, sampling := sample(t, r)
	c := r.Load(400, []loadgen.Load{
		{Profile: loadgen.NewConnections, Clients: 1}, {Profile: loadgen.KeepAlive, Clients: 2}, {Profile: loadgen.Post, Clients: 1}, {Profile: loadgen.HTTP2, Clients: 1},
	}, "web")
	l := startLoad(t, c)
	for _, n := range []int{9, 40} {
		r.Must(d.Scale(t.Context(), n, cluster.Ending{}))
		waitReady(t, r, d, "web")
		r.WaitCurrent()
	}
	harness.WaitFor(t, 20*time.Second, "each pod to have had requests", func() bool { return len(l.generator.Stats().Pods) == 40 })
	unharmed(t, l.end(), c)
	sampling.stop()
	rig.CheckSampler(t, sampler, r, 10)
	for i, n := range r.Nodes {
		now, err := n.Worker()
		r.Must(err)
		slots, err := rig.Metric(n.MetricsAddress, "berth_agent_reloads_total", `reason="slots"`)
		r.Must(err)
		all, err := n.Reloads()
		r.Must(err)
		all -= reloads[n]
		if adds := i%2 == 0; adds && (all != 0 || now != before[n.Label()]) {
			t.Errorf("%s may add servers and was reloaded %d times", n.Label(), all)
		} else if !adds && (slots == 0 || int(slots) != all) {
			t.Errorf("%s may not add servers: %v reloads for slots, %d in all", n.Label(), slots, all)
		}
	}
}
