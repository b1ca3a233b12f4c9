package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
)

// The requests of one route move from a service to another in steps, while clients send them without a pause: no worker is reloaded, no request fails, and after each step the
// share of either service is the one that was asked for.
func TestWeightsMoveTrafficWithoutAReload(t *testing.T) {
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 1)})
	r.Service("stable", 2)
	r.Service("canary", 2)
	shared := rig.Route("stable", "weights", "stable=1, canary=0")
	shared.Name, shared.Host = "shared", "shared.example.com"
	r.Must(r.AddRoute(shared))
	r.WaitServed("stable")
	r.WaitServed("canary")
	r.WaitAnswer("shared.example.com", "/", rig.Answer{Status: 200, Service: rig.Namespace + "/stable"})
	r.WaitCurrent()
	workers := r.Workers()

	var mu sync.Mutex
	got := map[string]int{}
	var failed []error
	asking := beside(t, func(ctx context.Context) {
		var all sync.WaitGroup
		for _, n := range r.Nodes {
			for range 2 {
				all.Go(func() {
					for ctx.Err() == nil {
						a, err := n.Get("shared.example.com", "/")
						if err == nil && a.Status != 200 {
							err = fmt.Errorf("%s answers %+v", n.Label(), a)
						}
						mu.Lock()
						if err != nil {
							failed = append(failed, err)
						}
						got[a.Service]++
						mu.Unlock()
					}
				})
			}
		}
		all.Wait()
	})
	count := func() (stable, canary int) {
		mu.Lock()
		defer mu.Unlock()
		stable, canary = got[rig.Namespace+"/stable"], got[rig.Namespace+"/canary"]
		clear(got)
		return stable, canary
	}
	for _, percent := range []int{10, 50, 100, 0} {
		shared.Annotations["berth.dev/weights"] = fmt.Sprintf("stable=%d, canary=%d", 100-percent, percent)
		before := revision(t, r, "new")
		r.Must(r.AddRoute(shared))
		harness.WaitFor(t, 20*time.Second, "the weights to be compiled", func() bool { return revision(t, r, "new") != before })
		r.WaitCurrent()
		count()
		stable, canary := 0, 0
		harness.WaitFor(t, 20*time.Second, "enough requests", func() bool {
			s, c := count()
			stable, canary = stable+s, canary+c
			return stable+canary >= 500
		})
		// Seven standard deviations of 500 draws are at most 78; two requests a node may have been on their way.
		all := stable + canary
		if want := all * percent / 100; canary < want-78-all/50 || canary > want+78+all/50 || (percent == 100 && stable > 4) || (percent == 0 && canary > 4) {
			t.Errorf("with %d %% the canary has %d of %d requests", percent, canary, all)
		}
	}
	asking.stop()
	for _, err := range failed {
		t.Error(err)
	}
	r.CheckSameWorkers(workers)
}
