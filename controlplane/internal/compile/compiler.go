package compile

import (
	"maps"
	"slices"
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/v1alpha1"
	"github.com/berth-proxy/berth/controlplane/internal/desired"
	"github.com/berth-proxy/berth/controlplane/internal/slots"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/store"
)

// Compiler compiles the rows of the store for every fleet.
type Compiler struct {
	home  string
	order map[string]int // of the sources on the command line

	mu sync.RWMutex // guards all below: Compile and Release write, the readers read

	fleets map[string]*fleet
	// fleetRows are the Fleet objects by their name, then by their cluster.
	fleetRows map[string]map[string]*v1alpha1.Fleet
	ingresses map[desired.Ref]*desired.Ingress
	// classes by cluster, then by name.
	classes  map[string]map[string]desired.Class
	secrets  map[desired.Ref]*secret
	policies policies
	reports  map[source.Key][]source.Problem
	// nameless are the problems of documents that do not say what they are, by source.
	nameless map[string][]source.Problem

	now func() time.Time
}

// FleetChange is what a Compile changed of one fleet.
type FleetChange struct {
	Fleet string
	// Gone: the fleet is no more; nothing else is set.
	Gone bool
	// Revision is what changed of it. The endpoints of a backend that it takes away are compiled on until Release.
	Revision snapshot.RevisionDelta
	// Endpoints has the backends whose endpoint set or slot policy changed, and every new one.
	Endpoints map[string]Backend
	// Seen is when a source saw the oldest of the changes.
	Seen time.Time
}

// Backend is what the slot table of a backend is made from.
type Backend struct {
	Endpoints []slots.Endpoint
	Policy    slots.Policy
}

// New makes a compiler for the sources in the order of the command line. The backends of the first have no prefix in their names, those of others
// have "CLUSTER." in front.
func New(home string, others ...string) *Compiler {
	c := &Compiler{
		home:      home,
		order:     map[string]int{home: 0},
		fleets:    map[string]*fleet{},
		fleetRows: map[string]map[string]*v1alpha1.Fleet{},
		ingresses: map[desired.Ref]*desired.Ingress{},
		classes:   map[string]map[string]desired.Class{},
		secrets:   map[desired.Ref]*secret{},
		policies:  newPolicies(),
		reports:   map[source.Key][]source.Problem{},
		nameless:  map[string][]source.Problem{},
		now:       time.Now,
	}
	for _, name := range others {
		if _, twice := c.order[name]; !twice {
			c.order[name] = len(c.order)
		}
	}
	return c
}

// place is the place of a source on the command line; unknown ones come last.
func (c *Compiler) place(cluster string) int {
	if i, ok := c.order[cluster]; ok {
		return i
	}
	return len(c.order)
}

// prefix stands in front of the names of what comes from a cluster.
func (c *Compiler) prefix(cluster string) string {
	if cluster == c.home {
		return ""
	}
	return cluster + "."
}

// Compile takes the changes that lead to the state that read has, and returns what they change of each fleet, by the fleets' names.
func (c *Compiler) Compile(read store.Read, changes store.Changes) []FleetChange {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &pass{c: c, read: read, policed: refSet{}}
	gone := c.updateFleets(p, changes)
	for i := range changes.Objects {
		c.take(p, &changes.Objects[i])
	}
	c.judgePolicies(p)
	for _, name := range changes.Sources {
		c.takeNameless(read, name)
	}
	var out []FleetChange
	seen := changes.Seen()
	for _, name := range gone {
		out = append(out, FleetChange{Fleet: name, Gone: true, Seen: seen})
	}
	for _, name := range slices.Sorted(maps.Keys(c.fleets)) {
		if fc, changed := c.fleets[name].compile(p); changed {
			fc.Seen = seen
			out = append(out, fc)
		}
	}
	c.forgetSecrets(p)
	return out
}

// Release ends the compiling of retired backends that no worker has any longer. Those that came back meanwhile stay.
func (c *Compiler) Release(fleet string, backends []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.fleets[fleet]; f != nil {
		f.release(backends)
	}
}

// pass is one call of Compile: what it reads, and what it has computed already.
type pass struct {
	c         *Compiler
	read      store.Read
	endpoints map[portRef][]slots.Endpoint
	touched   []desired.Ref // secrets that were looked at or let go
	policed   refSet        // services whose policies have to be judged
}

func refOf(k source.Key) desired.Ref {
	return desired.Ref{Cluster: k.Cluster, Namespace: k.Namespace, Name: k.Name}
}

// take brings what does not depend on a fleet up to date, and marks in each fleet what does.
func (c *Compiler) take(p *pass, change *store.Change) {
	ref := refOf(change.Key)
	if change.Problems {
		c.takeReports(p.read, change.Key)
	}
	switch change.Kind {
	case source.KindIngress:
		c.takeIngress(ref, change)
	case source.KindIngressClass:
		c.takeClass(change)
	case source.KindSecret:
		c.takeSecret(p, ref)
	case source.KindBackendPolicy:
		c.takePolicy(p, ref, change)
	case source.KindService:
		if len(c.policies.of[ref]) > 0 {
			p.policed[ref] = struct{}{}
		}
		for _, f := range c.fleets {
			f.serviceChanged(ref)
		}
	case source.KindEndpointSlice:
		for _, service := range servicesOf(change) {
			for _, f := range c.fleets {
				f.endpointsChanged(service)
			}
		}
	}
}

func (c *Compiler) takeIngress(ref desired.Ref, change *store.Change) {
	old := c.ingresses[ref]
	switch obj, exists := change.After.(*networkingv1.Ingress); {
	case exists:
		var accepted map[string]string
		if old != nil {
			accepted = old.Accepted
		}
		c.ingresses[ref] = desired.ParseIngress(obj, ref, c.place(ref.Cluster), accepted)
	default:
		delete(c.ingresses, ref)
		if hosts, class, anyClass := c.refused(change.Key); len(hosts) > 0 {
			c.ingresses[ref] = desired.RefusedIngress(ref, c.place(ref.Cluster), hosts, class, anyClass)
		}
	}
	for _, f := range c.fleets {
		f.dirty.ingresses[ref] = struct{}{}
	}
}

func (c *Compiler) takeClass(change *store.Change) {
	classes := c.classes[change.Cluster]
	if classes == nil {
		classes = map[string]desired.Class{}
		c.classes[change.Cluster] = classes
	}
	if obj, exists := change.After.(*networkingv1.IngressClass); exists {
		classes[change.Name] = desired.ParseClass(obj)
	} else {
		delete(classes, change.Name)
	}
	for _, f := range c.fleets {
		if !slices.Contains(f.spec.IngressClasses, change.Name) {
			continue
		}
		for ref := range c.ingresses {
			if ref.Cluster == change.Cluster {
				f.dirty.ingresses[ref] = struct{}{}
			}
		}
	}
}
