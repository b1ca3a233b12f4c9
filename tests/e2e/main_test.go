package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
	"github.com/berth-proxy/berth/tests/loadgen"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// serveOn is how long pods serve after they turned terminating: the keep-alive time of idle clients and a second (P5).
const serveOn = 6 * time.Second

// bothFleets are two fleets of one plane, one for each version of HAProxy, which serve the same: a scenario is played on both at once.
func bothFleets(t *testing.T, nodes int, flags ...string) []rig.Fleet {
	t.Helper()
	return []rig.Fleet{
		{Name: "old", HAProxy: harness.OldHAProxy(t), Nodes: nodes, Flags: flags},
		{Name: "new", HAProxy: harness.NewHAProxy(t), Nodes: nodes, Flags: flags},
	}
}

// running is what goes on beside a test's script until it is stopped.
type running struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func (r *running) stop() {
	r.cancel()
	<-r.done
}

// beside runs f until the test is over or stop is called, which waits for its end.
func beside(t *testing.T, f func(ctx context.Context)) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel, make(chan struct{})}
	go func() {
		defer close(r.done)
		f(ctx)
	}()
	t.Cleanup(r.stop)
	return r
}

// load is a load that runs.
type load struct {
	*running
	generator *loadgen.Generator
	stats     loadgen.Stats
}

// startLoad returns when the load has got going: each of the busy profiles has had answers.
func startLoad(t *testing.T, c loadgen.Config) *load {
	t.Helper()
	g, err := loadgen.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l := &load{generator: g}
	l.running = beside(t, func(ctx context.Context) { l.stats = g.Run(ctx) })
	harness.WaitFor(t, 20*time.Second, "the load to get going", func() bool {
		s := g.Stats()
		for _, load := range c.Loads {
			if load.MinGap == 0 && s.Profiles[load.Name].Requests < 10 {
				return false
			}
		}
		return true
	})
	return l
}

// end stops the load and returns its counts.
func (l *load) end() loadgen.Stats {
	l.stop()
	return l.stats
}

// unharmed fails the test for each failed request, and for a profile or a target that sent nothing.
func unharmed(t *testing.T, s loadgen.Stats, c loadgen.Config) {
	t.Helper()
	t.Logf("load: %v", s)
	if s.Failures > 0 {
		t.Errorf("%d of %d requests failed: %v", s.Failures, s.Requests, s.Kinds)
	}
	for _, l := range c.Loads {
		if s.Profiles[l.Name].Requests == 0 {
			t.Errorf("no request of profile %s was sent", l.Name)
		}
	}
	for _, target := range c.Targets {
		if s.Targets[target.Name].Requests == 0 {
			t.Errorf("no request was sent to %s", target.Name)
		}
	}
}

// sample looks at all nodes beside the test for what must never be.
func sample(t *testing.T, r *rig.Rig) (*haproxy.Sampler, *running) {
	t.Helper()
	s := r.Sampler()
	return s, beside(t, s.Run)
}

// during waits for a time that is a part of the scenario.
func during(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// every calls f now and then in every interval, until ctx ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		f()
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// inNetns is harness.InNetns, with the product's binaries built outside and once.
func inNetns(t *testing.T) bool {
	t.Helper()
	if os.Getenv("BERTH_BIN") == "" {
		t.Setenv("BERTH_BIN", filepath.Dir(harness.Binary(t, "berthctl")))
	}
	return harness.InNetns(t)
}

// waitNil is harness.WaitForNil with the patience for anything that must come true.
func waitNil(t *testing.T, what string, check func() error) {
	t.Helper()
	harness.WaitForNil(t, 20*time.Second, what, check)
}

// waitAnswer waits until a node answers requests for a host in a way.
func waitAnswer(t *testing.T, n *rig.Node, host string, want rig.Answer) {
	t.Helper()
	waitNil(t, fmt.Sprintf("%s to answer for %s with %+v", n.Label(), host, want), func() error {
		got, err := n.Get(host, "/")
		if err == nil && (got.Status != want.Status || got.Service != want.Service) {
			err = fmt.Errorf("it answers %+v", got)
		}
		return err
	})
}

// reloadByHand orders a reload as somebody might do it. While a master of an old version executes itself it refuses connections, or drops them.
func reloadByHand(t *testing.T, master string) {
	t.Helper()
	waitNil(t, "the master to take the order", func() error {
		_, err := haproxy.Ask(master, "reload")
		return err
	})
}
