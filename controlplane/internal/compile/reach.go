package compile

import (
	"maps"
	"slices"

	"github.com/berth-proxy/berth/controlplane/internal/desired"
	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// Reach is how far the loss of some objects would go in one fleet.
type Reach struct {
	Fleet string
	// Backends is how many the revision has, Touched those of them that depend on one of the objects, by name.
	Backends int
	Touched  []string
}

// Reach tells for each fleet that would notice the loss of these objects which of its backends depend on one of them: those of a Service, those of the
// services that an Ingress or a BackendPolicy names, those of the Ingresses that name a Secret or are served because of an IngressClass, and those of a Fleet. Who asks about an
// EndpointSlice names its Service.
func (c *Compiler) Reach(keys []source.Key) []Reach {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []Reach
	for _, name := range slices.Sorted(maps.Keys(c.fleets)) {
		f := c.fleets[name]
		touched := map[string]struct{}{}
		for _, k := range keys {
			f.touch(k, touched)
		}
		if len(touched) > 0 {
			out = append(out, Reach{Fleet: name, Backends: f.live, Touched: slices.Sorted(maps.Keys(touched))})
		}
	}
	return out
}

// touch adds the backends that depend on an object.
func (f *fleet) touch(k source.Key, touched map[string]struct{}) {
	switch k.Kind {
	case source.KindService:
		f.touchService(refOf(k), touched)
	case source.KindIngress:
		f.touchIngress(refOf(k), touched)
	case source.KindBackendPolicy:
		if p := f.c.policies.parsed[refOf(k)]; p != nil {
			for _, t := range p.Targets {
				f.touchService(t.Service, touched)
			}
		}
	case source.KindSecret:
		for ref := range f.bySecret[refOf(k)] {
			f.touchIngress(ref, touched)
		}
	case source.KindIngressClass:
		for ref := range f.claims {
			if ref.Cluster == k.Cluster && f.servedBy(k.Name, ref) {
				f.touchIngress(ref, touched)
			}
		}
	case source.KindFleet:
		if k.Name != f.name || len(f.c.fleetRows[f.name]) > 1 {
			return // another source has a Fleet of that name
		}
		for name, b := range f.backends {
			if b.live {
				touched[name] = struct{}{}
			}
		}
	}
}

func (f *fleet) touchService(ref desired.Ref, touched map[string]struct{}) {
	for name, b := range f.ofService[ref] {
		if b.live {
			touched[name] = struct{}{}
		}
	}
}

func (f *fleet) touchIngress(ref desired.Ref, touched map[string]struct{}) {
	if claims := f.claims[ref]; claims != nil {
		for _, service := range claims.Services {
			f.touchService(service, touched)
		}
	}
}

// servedBy says whether an Ingress that the fleet serves is served because of a class object: with the class named, the object only takes away.
func (f *fleet) servedBy(class string, ref desired.Ref) bool {
	ing := f.c.ingresses[ref]
	if ing == nil || ing.Refused || ing.HasClass {
		return false
	}
	without := maps.Clone(f.c.classes[ref.Cluster])
	delete(without, class)
	return !desired.Serves(&f.spec, without, ing)
}
