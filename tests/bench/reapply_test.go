package bench

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
)

// What a request may be helped with while a slot of a new worker is not yet as it should be: four retries, each after at most the connect timeout (P3).
const (
	retries        = 4
	connectTimeout = 500 * time.Millisecond
)

// BenchmarkReapply is the time from a new worker's first accepted connection on its socket until its slots are those that changed while it started: pods moved during the reload, so that
// its configuration is older than the truth. It must stay below retries × timeout connect, which is printed beside it. One operation is one reload with a change
// in the middle of it.
func BenchmarkReapply(b *testing.B) {
	for _, h := range []harness.HAProxy{harness.OldHAProxy(b), harness.NewHAProxy(b)} {
		for _, backends := range []int{10, 5000} {
			b.Run(fmt.Sprintf("haproxy-%s/backends=%d", h.Version, backends), func(b *testing.B) { reapply(b, h, backends) })
		}
	}
}

func reapply(b *testing.B, h harness.HAProxy, backends int) {
	dir := b.TempDir()
	if err := rig.Many(cluster.New(cluster.Options{Dir: dir}).Dir, backends, true); err != nil {
		b.Fatal(err)
	}
	r := rig.New(b, rig.Options{Cluster: cluster.Options{Dir: dir}, Fleets: []rig.Fleet{{Name: "default", HAProxy: h}}})
	harness.WaitFor(b, time.Minute, "the fleet to be served", func() bool {
		f, err := r.FleetState("default")
		return err == nil && int(f.GetBackends()) >= backends && f.GetGenerationApplied() == 1
	})
	r.WaitCurrent()
	n := r.Nodes[0]
	wanted, err := r.Wanted("default")
	r.Must(err)
	backend := wanted.Backend("shop/many-0:80").Name
	var windows []time.Duration
	moves := 2
	for b.Loop() {
		b.StopTimer() // what is measured is the window, not the reload
		before, err := n.Worker()
		r.Must(err)
		r.Must(r.AddRoute(rig.Route("many-1", "timeout-server", fmt.Sprintf("%ds", 100+moves))))
		waitConfig(b, n, fmt.Sprintf("timeout server %ds", 100+moves))
		moves++
		r.Must(r.Put(rig.ManySlice(0, 1, moves)))
		address := netip.MustParseAddr(rig.ManyAddress(0, moves))
		b.StartTimer()
		windows = append(windows, window(b, n, backend, before.PID, address))
	}
	var sum, most time.Duration
	for _, w := range windows {
		sum, most = sum+w, max(most, w)
	}
	b.ReportMetric(float64(sum.Microseconds())/1000/float64(len(windows)), "ms/window")
	b.ReportMetric(float64(most.Microseconds())/1000, "ms/longest-window")
	b.ReportMetric(float64((retries * connectTimeout).Milliseconds()), "ms/retries×timeout")
	b.ReportMetric(0, "ns/op") // the whole reload
}

// window waits for the next worker, and returns the time from its first answer to the one in which the slot is as it should be.
func window(b *testing.B, n *rig.Node, backend string, before int, address netip.Addr) time.Duration {
	b.Helper()
	var met time.Time
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		look, err := n.Look(backend)
		if err != nil || look.PID == before {
			continue
		}
		if met.IsZero() {
			met = time.Now()
		}
		for _, s := range look.Servers {
			if s.Address.Addr() == address && s.State == haproxy.Ready {
				return time.Since(met)
			}
		}
	}
	b.Fatalf("no worker after %d shows %s", before, address)
	return 0
}

func waitConfig(b *testing.B, n *rig.Node, text string) {
	b.Helper()
	harness.WaitFor(b, 30*time.Second, "the reload to begin", func() bool {
		config, err := n.Config()
		return err == nil && strings.Contains(config, text)
	})
}
