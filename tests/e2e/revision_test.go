package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
)

// P10. HAProxy refuses a revision. The node keeps the one that it has, says why with HAProxy's own words, and endpoint changes flow on; the fleet's other node, whose
// HAProxy takes it, has it. The next revision that is taken ends it. Nothing reloads for what is refused.
func TestRejectedRevisionKeepsTheOldOne(t *testing.T) {
	const badWord = "timeout server 66s"
	r := rig.New(t, rig.Options{Fleets: []rig.Fleet{
		{Name: "old", HAProxy: rig.Fussy(t, harness.OldHAProxy(t), badWord)}, {Name: "old", HAProxy: harness.OldHAProxy(t)},
		{Name: "new", HAProxy: rig.Fussy(t, harness.NewHAProxy(t), badWord)}, {Name: "new", HAProxy: harness.NewHAProxy(t)},
	}})
	web := r.Service("web", 2)
	r.Service("other", 1)
	r.WaitServed("web")
	r.WaitServed("other")
	r.WaitCurrent()
	workers := r.Workers()
	c := steady(r, "web", "other")
	l := startLoad(t, c)

	r.Must(r.AddRoute(rig.Route("other", "timeout-server", "66s")))
	refusing := []*rig.Node{r.Nodes[0], r.Nodes[2]}
	harness.WaitForNil(t, 20*time.Second, "the refusal to be told", func() error {
		nodes, err := r.Ask()
		if err != nil {
			return err
		}
		for _, n := range refusing {
			s := nodes[n.Node]
			if s.GetState() != adminv1.NodeState_NODE_STATE_REJECTED || !strings.Contains(s.GetMessage(), "taste") {
				return fmt.Errorf("node %s is %v: %s", n.Node, s.GetState(), s.GetMessage())
			}
		}
		return nil
	})
	if out, _, code := r.Plane.Ctl(t, "nodes"); code != 0 || !strings.Contains(strings.ToLower(out), "rejected") {
		t.Errorf("berthctl nodes: exit code %d:\n%s", code, out)
	}
	// Endpoints flow on, on all nodes.
	restart(t, cluster.Ending{ServeOn: serveOn}, web)
	waitReady(t, r, web, "web")
	for _, n := range refusing {
		if now, err := n.Worker(); err != nil || now != workers[n.Label()] {
			t.Errorf("%s was reloaded for a revision that its HAProxy refuses: %v, %v", n.Label(), now, err)
		}
		if config, err := n.Config(); err != nil || strings.Contains(config, badWord) {
			t.Errorf("%s: the configuration in force has what HAProxy refuses (%v)", n.Label(), err)
		}
	}
	r.Must(r.AddRoute(rig.Route("other", "timeout-server", "44s")))
	r.WaitCurrent()
	unharmed(t, l.end(), c)
}
