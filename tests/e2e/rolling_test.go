package e2e

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
	"github.com/berth-proxy/berth/tests/loadgen"
)

// 1. A service of one replica and one of five are restarted pod by pod while clients of every kind send requests through an old and a new HAProxy. A pod
// serves on for keep-alive and a second after it turned terminating, as well-behaved pods do. No request fails, and no HAProxy is reloaded: P4, P5.
func TestRollingRestart(t *testing.T) {
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 1)})
	one, five := r.Service("one", 1), r.Service("five", 5)
	r.WaitServed("one")
	r.WaitServed("five")
	r.WaitCurrent()

	before := r.Workers()
	old := append(one.Pods(), five.Pods()...)
	sampler, sampling := sample(t, r)
	c := r.Load(400, loadgen.Mix(2), "one", "five")
	l := startLoad(t, c)
	restart(t, cluster.Ending{ServeOn: serveOn, Pause: 400 * time.Millisecond}, one, five)
	r.WaitCurrent()
	s := l.end()
	sampling.stop()

	unharmed(t, s, c)
	r.CheckSameWorkers(before)
	rig.CheckSampler(t, sampler, r, 50)
	for _, p := range append(one.Pods(), five.Pods()...) {
		if s.Pods[p.Config().Name] == 0 {
			t.Errorf("the new pod %s got no request", p.Config().Name)
		}
	}
	for _, p := range old {
		if s.Pods[p.Config().Name] == 0 {
			t.Errorf("the old pod %s got no request, so its going proves nothing", p.Config().Name)
		}
	}
}

// restart restarts deployments at the same time.
func restart(t *testing.T, e cluster.Ending, deployments ...*cluster.Deployment) {
	t.Helper()
	var restarts sync.WaitGroup
	for _, d := range deployments {
		restarts.Go(func() {
			if err := d.RollingRestart(t.Context(), e); err != nil {
				t.Error(err)
			}
		})
	}
	restarts.Wait()
}

// Pods that exit at SIGTERM lose what is on its way to them, whatever the proxy does. Berth is put beside plain HAProxies of the same version that get
// the same news at the same moment, one by reloads and one by its runtime socket, under the same load: it does not do worse.
func TestRollingRestartOfPodsThatExitAtOnce(t *testing.T) {
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 1)})
	d := r.Service("web", 5)
	r.WaitServed("web")
	r.WaitCurrent()
	// Busy clients only: who is idle at the moment of the end loses nothing.
	c := r.Load(1600, []loadgen.Load{{Profile: loadgen.NewConnections, Clients: 3}, {Profile: loadgen.KeepAlive, Clients: 3}, {Profile: loadgen.Post, Clients: 3}}, "web")
	for _, n := range r.Nodes {
		for _, news := range []haproxy.News{haproxy.ByReload, haproxy.ByRuntime} {
			c.Targets = append(c.Targets, loadgen.Target{Name: plainName(n, news), Address: follow(t, n.HAProxy, news, d)})
		}
	}
	l := startLoad(t, c)
	for range 5 {
		restart(t, cluster.Ending{AtOnce: true, Pause: 150 * time.Millisecond}, d)
	}
	s := l.end()
	for _, n := range r.Nodes {
		berth := s.Targets[n.Label()]
		for _, news := range []haproxy.News{haproxy.ByReload, haproxy.ByRuntime} {
			plain := s.Targets[plainName(n, news)]
			t.Logf("%-40s %s", plainName(n, news), rate(plain))
			notWorse(t, n.Label(), berth, plainName(n, news), plain)
		}
		t.Logf("%-40s %s", "Berth, "+n.Label(), rate(berth))
	}
	if s.Requests < 1000 {
		t.Errorf("only %d requests were sent", s.Requests)
	}
}

func rate(c loadgen.Count) string {
	return fmt.Sprintf("%6d requests, %d failed (%.2f %%)", c.Requests, c.Failures, 100*float64(c.Failures)/float64(max(1, c.Requests)))
}

// notWorse compares rates: who answers more slowly is asked less often, and must not look better for it. Which of the two has a request under way at
// the moment of a kill is chance: a few more or less mean nothing. The clients send as fast as answers come, so a proxy that let far fewer
// through held them up.
func notWorse(t *testing.T, name string, c loadgen.Count, otherName string, other loadgen.Count) {
	t.Helper()
	expected := float64(other.Failures) * float64(c.Requests) / float64(max(1, other.Requests))
	if float64(c.Failures) > expected+chance(expected) {
		t.Errorf("%s lost %s; %s %s", name, rate(c), otherName, rate(other))
	}
	if c.Requests < other.Requests/2 {
		t.Errorf("%s let through %d requests, %s %d", name, c.Requests, otherName, other.Requests)
	}
}

// chance is by how much two counts of the same rare thing may differ (three times the square root of their sum).
func chance(n float64) float64 { return 3 * math.Sqrt(2*(n+1)) }

func plainName(n *rig.Node, news haproxy.News) string {
	return fmt.Sprintf("plain HAProxy %s by %s", n.HAProxy.Version, news)
}

// follow starts a plain HAProxy that is told of the deployment's ready pods, and returns its address.
func follow(t *testing.T, h harness.HAProxy, news haproxy.News, d *cluster.Deployment) string {
	t.Helper()
	plain, err := haproxy.StartPlain(haproxy.PlainOptions{
		Binary: h.Path, Dir: t.TempDir(), Address: fmt.Sprintf("127.0.0.1:%d", harness.Port(t)), News: news,
		Services: map[string]string{d.Service(): rig.Host(d.Spec.Name)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plain.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := plain.Set(d.Service(), d.Ready()); err != nil {
		t.Fatal(err)
	}
	beside(t, func(ctx context.Context) {
		if err := harness.Follow(ctx, plain, d); err != nil {
			t.Error(err)
		}
	})
	return plain.Address()
}
