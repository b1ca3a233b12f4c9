package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
	"github.com/berth-proxy/berth/tests/loadgen"
	"github.com/berth-proxy/berth/tests/pod"
)

// The check of these tests, and until when a worker must have found out: fall × interval + 1 s.
const (
	checkInterval = 100 * time.Millisecond
	checkFall     = 3
	checkDown     = checkFall*checkInterval + time.Second
)

// 5. Backends with a health check, one by TCP and one by HTTP, each with a dead server beside three live ones, while the structure changes every 300 ms. No request gets a
// 503, or fails at all: in each new worker the dead server is taken for ready until its checks have failed, and a request that meets it goes to another. A worker that serves
// for fall × interval + 1 s has it DOWN by then: P3.
func TestCheckedBackendAmidReloads(t *testing.T) {
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 1)})
	dead := map[string]haproxy.Server{}
	for service, check := range map[string]string{"tcp": "tcp", "web": "http:" + pod.HealthPath} {
		d := r.Service(service, 4, "check", check, "check-interval", checkInterval.String())
		p := d.Pods()[3]
		dead[service] = haproxy.Server{Address: p.Config().Address}
		if service == "tcp" {
			r.Must(p.Kill()) // its machine died: the slices know nothing of it yet
		} else {
			r.Must(p.SetMode(pod.Refuse))
		}
	}
	r.Service("aside", 1)
	r.WaitServed("tcp")
	r.WaitServed("web")
	r.WaitCurrent()

	c := r.Load(400, []loadgen.Load{
		{Profile: loadgen.NewConnections, Clients: 2}, {Profile: loadgen.KeepAlive, Clients: 2}, {Profile: loadgen.Post, Clients: 2}, {Profile: loadgen.HTTP2, Clients: 1},
	}, "tcp", "web")
	l := startLoad(t, c)
	witnesses := map[*rig.Node]*witness{}
	for _, n := range r.Nodes {
		witnesses[n] = &witness{dead: dead}
	}
	watching := beside(t, func(ctx context.Context) {
		var all sync.WaitGroup
		for n, w := range witnesses {
			all.Go(func() { w.run(ctx, n) })
		}
		all.Wait()
	})
	changing := beside(t, func(ctx context.Context) { restructure(ctx, r, t) })
	during(t, 10*time.Second)
	changing.stop()
	r.WaitCurrent()
	// The last workers serve on, so they have to find out.
	for _, w := range witnesses {
		harness.WaitFor(t, 20*time.Second, "a worker that serves on", func() bool { return w.age() > checkDown+100*time.Millisecond })
	}
	watching.stop()
	s := l.end()

	unharmed(t, s, c)
	if s.Statuses[503] > 0 {
		t.Errorf("%d requests got 503", s.Statuses[503])
	}
	for _, n := range r.Nodes {
		w := witnesses[n]
		t.Logf("%s: %d workers, of which %d served for %v; DOWN after %v at the latest", n.Label(), w.workers, w.judged, checkDown, w.slowest.Round(time.Millisecond))
		for _, err := range w.errs {
			t.Error(err)
		}
		if w.workers < 3 || w.judged == 0 {
			t.Errorf("%s had %d workers of which %d served long enough: too few to say something", n.Label(), w.workers, w.judged)
		}
	}
}

// A witness follows the workers of one node and notes when each has its dead servers DOWN. Its fields are read when run has returned, but for met.
type witness struct {
	dead map[string]haproxy.Server

	mu  sync.Mutex // guards met
	met time.Time  // when the worker was met that serves now

	pid     int
	found   map[string]time.Duration
	workers int
	judged  int
	slowest time.Duration
	errs    []error
}

func (w *witness) run(ctx context.Context, n *rig.Node) {
	every(ctx, 10*time.Millisecond, func() {
		look, err := n.Look("")
		if err != nil {
			return // it is between two workers
		}
		if look.PID != w.pid {
			w.judge(n)
			w.meet(look.PID)
		}
		for service, dead := range w.dead {
			if _, known := w.found[service]; known {
				continue
			}
			for _, s := range look.Servers {
				if s.Address == dead.Address && s.State == haproxy.Ready && !s.Running {
					w.found[service] = w.age()
				}
			}
		}
	})
	w.judge(n)
}

func (w *witness) meet(pid int) {
	w.pid, w.found = pid, map[string]time.Duration{}
	w.workers++
	w.mu.Lock()
	defer w.mu.Unlock()
	w.met = time.Now()
}

// age is how long the worker has served that serves now.
func (w *witness) age() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.met)
}

// judge says of the worker that ends here whether it found its dead servers in time. One that did not serve for that long is not judged.
func (w *witness) judge(n *rig.Node) {
	if w.pid == 0 || w.age() < checkDown {
		return
	}
	w.judged++
	for service := range w.dead {
		after, known := w.found[service]
		w.slowest = max(w.slowest, after)
		if !known || after > checkDown {
			w.errs = append(w.errs, fmt.Errorf("%s: worker %d served for %v and had the dead server of %s DOWN after %v (0 is never)",
				n.Label(), w.pid, w.age().Round(time.Millisecond), service, after.Round(time.Millisecond)))
		}
	}
}
