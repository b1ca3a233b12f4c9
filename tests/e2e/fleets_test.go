package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster/manifest"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
)

// Two fleets of one plane serve different classes of the same directory: what one serves the other does not know. A node of a fleet that is not there waits, and both sides
// say so; it is served as soon as its fleet appears.
func TestFleets(t *testing.T) {
	edge := rig.Fleet{Name: "edge", HAProxy: harness.OldHAProxy(t), Spec: manifest.FleetSpec{IngressClasses: []string{"edge"}}}
	internal := rig.Fleet{Name: "internal", HAProxy: harness.NewHAProxy(t), Spec: manifest.FleetSpec{IngressClasses: []string{"internal"}}}
	r := rig.New(t, rig.Options{Fleets: []rig.Fleet{edge, internal}})
	for class, service := range map[string]string{"edge": "shop", "internal": "admin"} {
		r.Service(service, 1)
		route := rig.Route(service)
		route.Class = class
		r.Must(r.AddRoute(route))
	}
	for i, service := range []string{"shop", "admin"} {
		mine, others := r.Nodes[i], r.Nodes[1-i]
		waitAnswer(t, mine, rig.Host(service), rig.Answer{Status: http.StatusOK, Service: "shop/" + service})
		waitAnswer(t, others, rig.Host(service), rig.Answer{Status: http.StatusNotFound})
	}
	r.WaitCurrent()

	late := harness.StartAgent(t, harness.AgentOptions{Planes: []string{r.Plane.NodeAddress}, Fleet: "late", Node: "late-1", HAProxy: harness.NewHAProxy(t).Path})
	harness.WaitForNil(t, 20*time.Second, "both sides to say that fleet late is not known", func() error {
		out, _, _ := r.Plane.Ctl(t, "nodes")
		switch {
		case !strings.Contains(out, "late-1") || !strings.Contains(strings.ToLower(out), "waiting"):
			return fmt.Errorf("berthctl nodes: %s", out)
		case !strings.Contains(late.Log(), "late") || !strings.Contains(strings.ToLower(late.Log()), "fleet"):
			return fmt.Errorf("the agent's log: %s", late.Log())
		}
		return nil
	})
	r.Must(r.Put(manifest.Fleet{Metadata: manifest.Meta{Name: "late"}, Spec: manifest.FleetSpec{IngressClasses: []string{"edge"}}}))
	node := &rig.Node{Agent: late, Fleet: "late", HAProxy: harness.NewHAProxy(t)}
	waitAnswer(t, node, rig.Host("shop"), rig.Answer{Status: http.StatusOK, Service: "shop/shop"})
	r.Nodes = append(r.Nodes, node)
	r.WaitCurrent()

	// A fleet that goes takes nothing from its nodes: they serve what they have.
	r.Must(r.Delete(manifest.Fleet{Metadata: manifest.Meta{Name: "late"}}.ID()))
	harness.WaitForNil(t, 20*time.Second, "node late-1 to wait again", func() error {
		if out, _, _ := r.Plane.Ctl(t, "nodes"); !strings.Contains(strings.ToLower(out), "waiting") {
			return fmt.Errorf("berthctl nodes: %s", out)
		}
		return nil
	})
	waitAnswer(t, node, rig.Host("shop"), rig.Answer{Status: http.StatusOK, Service: "shop/shop"})
}
