package compile

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/berth-proxy/berth/controlplane/internal/desired"
	"github.com/berth-proxy/berth/controlplane/internal/slots"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/store"
)

// backend is a backend of the fleet, or one that is retired and not yet released.
type backend struct {
	desired.Backend
	// uses counts the routes that lead to it.
	uses int
	// live: it is in the revision. It was told once it has been in a FleetChange.
	live, told bool
	endpoints  []slots.Endpoint
	policy     slots.Policy
}

type portRef struct {
	service desired.Ref
	port    string
}

// sliceNote is what is wrong with a slice.
type sliceNote struct {
	slice desired.Ref
	note  desired.Note
}

func (f *fleet) use(b desired.Backend) {
	if b.Closed() {
		return
	}
	have := f.backends[b.Name]
	if have == nil {
		have = &backend{Backend: b}
		f.backends[b.Name] = have
		if f.ofService[b.Service] == nil {
			f.ofService[b.Service] = map[string]*backend{}
		}
		f.ofService[b.Service][b.Name] = have
	}
	have.Backend = b
	have.uses++
	f.dirty.backends[b.Name] = struct{}{}
}

func (f *fleet) leave(b desired.Backend) {
	if b.Closed() {
		return
	}
	f.backends[b.Name].uses--
	f.dirty.backends[b.Name] = struct{}{}
}

func (f *fleet) drop(b *backend) {
	delete(f.backends, b.Name)
	delete(f.ofService[b.Service], b.Name)
	if len(f.ofService[b.Service]) == 0 {
		delete(f.ofService, b.Service)
		delete(f.slices, b.Service)
	}
}

func (f *fleet) release(names []string) {
	for _, name := range names {
		if b := f.backends[name]; b != nil && !b.live {
			f.drop(b)
		}
	}
}

// settleBackends lets backends come and go after all routes are merged, and then brings endpoint sets and slot policies up to date.
func (f *fleet) settleBackends(p *pass, fc *FleetChange) {
	for name := range f.dirty.backends {
		b := f.backends[name]
		switch {
		case b.uses > 0 && !b.live:
			b.live = true
			f.live++
			f.stageBackend(b)
			f.dirty.services[b.Service] = struct{}{} // what its slices have to be warned about
			f.updateEndpoints(p, b, fc, true)
		case b.uses > 0:
			f.updateEndpoints(p, b, fc, false) // the fleet's slot policy, or the port's number
		case b.live:
			b.live = false
			f.live--
			f.unstageBackend(b)
			f.dirty.services[b.Service] = struct{}{}
		case !b.told:
			f.drop(b) // it came and went within this pass
		}
	}
	for service := range f.dirty.services {
		for _, b := range f.ofService[service] {
			f.updateEndpoints(p, b, fc, false)
		}
		f.updateSliceNotes(p, service)
	}
}

// updateEndpoints tells of the endpoints of a backend if they or the policy changed, or if it is new. A retired backend whose port is gone keeps its
// last endpoints: the workers that still have it are better off with pods that may live on for a moment than with none.
func (f *fleet) updateEndpoints(p *pass, b *backend, fc *FleetChange, isNew bool) {
	svc := world{p}.Service(b.Service)
	endpoints := b.endpoints
	if desired.HasPort(svc, b.Port) {
		endpoints = b.Settings.Seated(p.endpointsOf(b))
	} else if b.live {
		panic("BUG: compile: backend " + b.Name + " is in the revision without a port")
	}
	policy := slots.Policy{Minimum: f.defaults.SlotsMinimum, SurgePercent: int(*f.spec.Slots.SurgePercent)}
	if b.Settings.SlotsMinimum > 0 {
		policy.Minimum = b.Settings.SlotsMinimum
	}
	if !isNew && policy == b.policy && slices.Equal(endpoints, b.endpoints) {
		return
	}
	b.endpoints, b.policy, b.told = endpoints, policy, true
	fc.Endpoints[b.Name] = Backend{Endpoints: endpoints, Policy: policy}
}

// endpointsOf computes the endpoints of a service port once for all backends and fleets that have it.
func (p *pass) endpointsOf(b *backend) []slots.Endpoint {
	at := portRef{b.Service, b.Port.Name}
	if known, ok := p.endpoints[at]; ok {
		return known
	}
	set := desired.Endpoints(world{p}.Service(b.Service), b.Port, p.slicesOf(b.Service))
	if p.endpoints == nil {
		p.endpoints = map[portRef][]slots.Endpoint{}
	}
	p.endpoints[at] = set
	return set
}

func (p *pass) slicesOf(service desired.Ref) []*discoveryv1.EndpointSlice {
	var list []*discoveryv1.EndpointSlice
	for _, s := range p.read.SlicesOfService(service.Cluster, service.Namespace, service.Name) {
		list = append(list, s)
	}
	return list
}

func (f *fleet) updateSliceNotes(p *pass, service desired.Ref) {
	delete(f.slices, service)
	live := false
	for _, b := range f.ofService[service] {
		live = live || b.live
	}
	if !live {
		return
	}
	for k, s := range p.read.SlicesOfService(service.Cluster, service.Namespace, service.Name) {
		for _, n := range desired.SliceNotes(s) {
			f.slices[service] = append(f.slices[service], sliceNote{refOf(k), n})
		}
	}
}

// servicesOf are the services that a slice belonged and belongs to.
func servicesOf(change *store.Change) []desired.Ref {
	var list []desired.Ref
	for _, obj := range []source.Object{change.Before, change.After} {
		s, ok := obj.(*discoveryv1.EndpointSlice)
		if !ok {
			continue
		}
		name := s.Labels[discoveryv1.LabelServiceName]
		ref := desired.Ref{Cluster: change.Cluster, Namespace: change.Namespace, Name: name}
		if name != "" && !slices.Contains(list, ref) {
			list = append(list, ref)
		}
	}
	return list
}
