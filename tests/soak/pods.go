package soak

import (
	"errors"
	"math/rand/v2"
	"time"
)

// atDeath is how long after a pod's death a request may fail that was on its way to it, through a plain HAProxy as well. Whoever comes later is refused, and is sent to another.
const atDeath = 300 * time.Millisecond

// podKilled kills a pod as a machine does that goes down, and has the slices say so only some time later.
func podKilled(r *Run, _ *node, random *rand.Rand) (func() error, error) {
	d := r.churn.deployments[random.IntN(len(r.churn.deployments))]
	endpoints, _ := d.Endpoints()
	pods := d.Pods()
	for _, i := range random.Perm(min(len(pods), len(endpoints))) {
		if !endpoints[i].Ready || pods[i].Config().Name != endpoints[i].Pod {
			continue // it leaves, or the slices have changed just now
		}
		var windows []func()
		for where := range len(r.nodes) + len(r.yards) {
			windows = append(windows, r.account.open(where, "pod killed"))
		}
		err := pods[i].Kill()
		r.running.Go(func() {
			<-time.After(atDeath)
			for _, over := range windows {
				over()
			}
		})
		return func() error { return d.Bury(pods[i]) }, err
	}
	return nil, errors.New("no pod is ready")
}
