package e2e

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/loadgen"
)

// restructure changes the structure of every node every 300 ms until ctx ends: one of a few routes gets other settings, and with them another backend.
// It returns how many changes it made.
func restructure(ctx context.Context, r *rig.Rig, t *testing.T) int {
	made := 0
	every(ctx, 300*time.Millisecond, func() {
		route := rig.Route("aside", "timeout-server", fmt.Sprintf("%ds", 30+made))
		route.Name, route.Host = fmt.Sprintf("aside-%d", made%3), fmt.Sprintf("aside-%d.example.com", made%3)
		if err := r.AddRoute(route); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		made++
	})
	return made
}

// asNewest is a check of a Follower: the worker's servers equal the newest slot tables of the backends that its revision has.
func asNewest(r *rig.Rig) func(n *rig.Node, worker int) error {
	return func(n *rig.Node, worker int) error {
		if err := r.Differs(n, true); err != nil {
			return err
		}
		if id, err := n.Worker(); err != nil || id.PID != worker {
			return fmt.Errorf("the answer may be of another worker: %v, %w", id, err)
		}
		return nil
	}
}

// 2. The same restarts on three nodes at once, while the structure changes every 300 ms, so that HAProxy is reloaded again and again. Reloads are paced and
// coalesced, each node has at least ten, and at most eight old workers. No request fails; within a second after each reload the worker's own
// answer equals the newest slot tables; and no server is ever HAProxy itself or an enabled placeholder: P1, P3, P4, P5.
func TestRollingRestartAmidReloads(t *testing.T) {
	harness.ForEachHAProxy(t, func(t *testing.T, h harness.HAProxy) {
		r := rig.New(t, rig.Options{Fleets: []rig.Fleet{{Name: "default", HAProxy: h, Nodes: 3}}})
		one, five := r.Service("one", 1), r.Service("five", 5)
		r.Service("aside", 1)
		r.WaitServed("one")
		r.WaitServed("five")
		r.WaitCurrent()

		sampler, sampling := sample(t, r)
		c := r.Load(300, loadgen.Mix(1), "one", "five")
		l := startLoad(t, c)
		followers := map[*rig.Node]*rig.Follower{}
		for _, n := range r.Nodes {
			followers[n] = &rig.Follower{Check: asNewest(r), Within: time.Second}
		}
		following := beside(t, func(ctx context.Context) {
			var all sync.WaitGroup
			for n, f := range followers {
				all.Go(func() { f.Run(ctx, n) })
			}
			all.Wait()
		})
		var made atomic.Int64
		changing := beside(t, func(ctx context.Context) { made.Store(int64(restructure(ctx, r, t))) })
		restart(t, cluster.Ending{ServeOn: serveOn, Pause: 700 * time.Millisecond}, one, five)
		harness.WaitForNil(t, 30*time.Second, "ten reloads of each node", func() error {
			for n, f := range followers {
				if reloads, _, _, _ := f.Report(); reloads < 10 {
					return fmt.Errorf("%s was reloaded %d times", n.Label(), reloads)
				}
			}
			return nil
		})
		changing.stop()
		r.WaitCurrent()
		following.stop()
		s := l.end()
		sampling.stop()

		unharmed(t, s, c)
		rig.CheckSampler(t, sampler, r, 50)
		for _, n := range r.Nodes {
			reloads, old, slowest, errs := followers[n].Report()
			t.Logf("%s: %d changes of the structure became %d reloads, at most %d old workers, the newest slots after %v at the latest",
				n.Label(), made.Load(), reloads, old, slowest.Round(time.Millisecond))
			for _, err := range errs {
				t.Error(err)
			}
			if old > 8 {
				t.Errorf("%s had %d old workers", n.Label(), old)
			}
			if int64(reloads) >= made.Load() {
				t.Errorf("%s: %d changes became %d reloads: nothing was coalesced", n.Label(), made.Load(), reloads)
			}
		}
	})
}
