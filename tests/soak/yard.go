package soak

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
)

// A yard is a yardstick: a plain HAProxy with the same pods, which is told of each change at once, and is killed when one of its nodes is.
type yard struct {
	name        string
	index       int // among the account's places
	binary, dir string
	plain       *haproxy.Plain
	load        *load

	killing sync.Mutex // makes one death after the other
}

// restartAfter is how long what watches over services waits before it starts one again (systemd's default).
const restartAfter = 100 * time.Millisecond

// startYards starts one for each HAProxy, and has them follow the deployments.
func (r *Run) startYards(old, newest harness.HAProxy) {
	r.t.Helper()
	hosts := map[string]string{}
	for _, s := range services {
		hosts[rig.Namespace+"/"+s] = rig.Host(s)
	}
	for i, h := range []harness.HAProxy{old, newest} {
		dir := r.t.TempDir()
		plain, err := haproxy.StartPlain(haproxy.PlainOptions{
			Binary: h.Path, Dir: dir, Address: fmt.Sprintf("127.0.0.1:%d", harness.Port(r.t)), News: haproxy.ByRuntime, Slots: 24, Services: hosts,
			Defaults: []string{"retries 4", "option redispatch 1", "option idle-close-on-response"},
		})
		if err != nil {
			r.t.Fatalf("start the yardstick: %v", err)
		}
		r.t.Cleanup(func() {
			if err := plain.Stop(); err != nil {
				r.t.Errorf("end the yardstick: %v", err)
			}
		})
		y := &yard{name: "plain HAProxy " + h.Version, index: len(r.nodes) + i, binary: h.Path, dir: dir, plain: plain}
		r.yards = append(r.yards, y)
		for _, n := range r.nodes[nodesEach*i : nodesEach*(i+1)] {
			n.yard = y
		}
		for _, d := range r.churn.deployments {
			if err := plain.Set(d.Service(), d.Ready()); err != nil {
				r.t.Fatalf("tell the yardstick its pods: %v", err)
			}
		}
	}
}

// follow tells the yardsticks of every change until ctx ends.
func (r *Run) follow(ctx context.Context) {
	for _, y := range r.yards {
		for _, d := range r.churn.deployments {
			r.running.Go(func() {
				for ctx.Err() == nil {
					// It ends with an error while the plain HAProxy is dead.
					if err := harness.Follow(ctx, y.plain, d); err != nil {
						wait(ctx, restartAfter)
					}
				}
			})
		}
	}
}

// kill kills a yardstick when its node is killed, and starts it again.
func (r *Run) kill(y *yard, f string) {
	r.running.Go(func() {
		y.killing.Lock()
		defer y.killing.Unlock()
		over := r.account.open(y.index, f)
		defer over()
		err := y.plain.Kill()
		<-time.After(restartAfter)
		if err == nil {
			err = y.plain.Restart()
		}
		if err != nil {
			r.t.Errorf("kill the %s and start it again: %v", y.name, err)
		}
	})
}

// wait waits, and tells whether ctx still lives.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
