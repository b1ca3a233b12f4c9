package rig

import (
	"context"
	"fmt"
	"slices"
	"time"

	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/cluster/manifest"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
	"github.com/berth-proxy/berth/tests/loadgen"
)

// Namespace is where the rig's services and routes are.
const Namespace = "shop"

// patience is how long anything that must come true may take on a busy machine. What a test promises has a bound of its own.
const patience = 30 * time.Second

// A Fleet is nodes that serve the same.
type Fleet struct {
	// Name is the Fleet object's; for "default" no object is written. The same name twice is one fleet with nodes of both kinds.
	Name    string
	HAProxy harness.HAProxy
	Nodes   int      // 1 when zero
	Flags   []string // of its agents
	// Spec is the rest of the Fleet object.
	Spec manifest.FleetSpec
}

// Options says what a rig is made of.
type Options struct {
	Fleets  []Fleet
	Cluster cluster.Options // Dir is made when empty
	Flags   []string        // of the plane
	// Sources are the plane's besides the cluster, each NAME=dir:PATH.
	Sources []string
	// Agent, if it is set, changes how an agent is started.
	Agent func(o *harness.AgentOptions)
}

// A Node is a node of a fleet.
type Node struct {
	*harness.Agent
	Fleet   string
	HAProxy harness.HAProxy
}

// A Rig is a plane, its nodes and a cluster.
type Rig struct {
	*cluster.Cluster
	Plane *harness.Plane
	Nodes []*Node

	t     harness.T
	admin adminv1.AdminServiceClient
}

// New starts a plane and the nodes. The nodes serve as soon as there is something to serve (see WaitCurrent).
func New(t harness.T, o Options) *Rig {
	t.Helper()
	if o.Cluster.Dir == "" {
		o.Cluster.Dir = t.TempDir()
	}
	r := &Rig{Cluster: cluster.New(o.Cluster), t: t}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("end the pods: %v", err)
		}
	})
	for _, f := range o.Fleets {
		if f.Name == "default" {
			continue
		}
		if err := r.Put(manifest.Fleet{Metadata: manifest.Meta{Name: f.Name}, Spec: f.Spec}); err != nil {
			t.Fatalf("%v", err)
		}
	}
	r.Plane = harness.StartPlane(t, append([]string{"objects=dir:" + o.Cluster.Dir}, o.Sources...), o.Flags...)
	r.admin = adminClient(t, r.Plane.AdminAddress)
	made := map[string]int{}
	for _, f := range o.Fleets {
		for range max(1, f.Nodes) {
			made[f.Name]++
			name := fmt.Sprintf("%s-%d", f.Name, made[f.Name])
			options := harness.AgentOptions{
				Planes: []string{r.Plane.NodeAddress}, Fleet: f.Name, Node: name, HAProxy: f.HAProxy.Path, Flags: f.Flags,
			}
			if o.Agent != nil {
				o.Agent(&options)
			}
			r.Nodes = append(r.Nodes, &Node{Agent: harness.StartAgent(t, options), Fleet: f.Name, HAProxy: f.HAProxy})
		}
	}
	return r
}

// Service starts a service's pods, and a route to it for the host NAME.example.com.
func (r *Rig) Service(name string, replicas int, annotations ...string) *cluster.Deployment {
	r.t.Helper()
	d, err := r.Deploy(context.Background(), cluster.Spec{Namespace: Namespace, Name: name}, replicas)
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	r.Must(r.AddRoute(Route(name, annotations...)))
	return d
}

// Route is the route to a service by the host NAME.example.com. Annotations are names and values in turn, without the prefix.
func Route(service string, annotations ...string) cluster.Route {
	route := cluster.Route{Namespace: Namespace, Name: service, Host: Host(service), Service: service}
	for pair := range slices.Chunk(annotations, 2) {
		if route.Annotations == nil {
			route.Annotations = map[string]string{}
		}
		route.Annotations["berth.dev/"+pair[0]] = pair[1]
	}
	return route
}

// Host is the host of a service.
func Host(service string) string { return service + ".example.com" }

// Must ends the test if a step of its script could not be done.
func (r *Rig) Must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%v", err)
	}
}

// Load prepares a load on every node through the routes of the named services.
func (r *Rig) Load(rate float64, loads []loadgen.Load, services ...string) loadgen.Config {
	c := loadgen.Config{Rate: rate, Loads: loads}
	for _, n := range r.Nodes {
		c.Targets = append(c.Targets, loadgen.Target{Name: n.Label(), Address: n.HTTP()})
	}
	for _, s := range services {
		c.Routes = append(c.Routes, loadgen.Route{Host: Host(s), Service: Namespace + "/" + s})
	}
	return c
}

// Label names a node with its HAProxy, for people.
func (n *Node) Label() string { return n.Node + " (HAProxy " + n.HAProxy.Version + ")" }

// Sampler looks at every node again and again for what must never be.
func (r *Rig) Sampler() *haproxy.Sampler {
	var watches []haproxy.Watch
	for _, n := range r.Nodes {
		watches = append(watches, n.Watch())
	}
	return haproxy.NewSampler(50*time.Millisecond, watches...)
}

// CheckSampler fails the test if a sampler found something, or looked too seldom to have found it.
func CheckSampler(t harness.T, s *haproxy.Sampler, r *Rig, least int) {
	t.Helper()
	for _, v := range s.Violations() {
		t.Errorf("%s", v)
	}
	samples := s.Samples()
	for _, n := range r.Nodes {
		if samples[n.Node] < least {
			t.Errorf("node %s was looked at %d times only, want %d at least", n.Node, samples[n.Node], least)
		}
	}
}
