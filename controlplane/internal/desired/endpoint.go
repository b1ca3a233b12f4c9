package desired

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/slots"
)

// Endpoints gives the endpoint set of a service port from all slices of the service, sorted by name, address and port. svc may not be nil; a
// service of type ExternalName has none, whatever slices are left over from before.
//
// An address and port that several slices name counts once: ready before draining before gone. Draining endpoints are promoted when no ready one is left, as
// kube-proxy does.
func Endpoints(svc *corev1.Service, port Port, all []*discoveryv1.EndpointSlice) []slots.Endpoint {
	if svc.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	family := firstFamily(svc, all)
	var found []slots.Endpoint
	for _, s := range all {
		if s.AddressType == family {
			found = appendSlice(found, s, port.Name)
		}
	}
	found = once(found)
	if !slices.ContainsFunc(found, func(e slots.Endpoint) bool { return e.State == snapshot.Ready }) {
		for i := range found {
			found[i].State = snapshot.Ready
		}
	}
	slices.SortFunc(found, compareEndpoints)
	return found
}

// firstFamily is the one in which each pod counts once, though it has an address in every family of a dual-stack service.
func firstFamily(svc *corev1.Service, all []*discoveryv1.EndpointSlice) discoveryv1.AddressType {
	if len(svc.Spec.IPFamilies) > 0 {
		return discoveryv1.AddressType(svc.Spec.IPFamilies[0])
	}
	if slices.ContainsFunc(all, func(s *discoveryv1.EndpointSlice) bool { return s.AddressType == discoveryv1.AddressTypeIPv4 }) {
		return discoveryv1.AddressTypeIPv4
	}
	return discoveryv1.AddressTypeIPv6
}

// appendSlice adds the endpoints of a slice that are ready or draining. The number belongs to the slice, and so to the endpoint: a named target port may have
// another number on every pod.
func appendSlice(found []slots.Endpoint, s *discoveryv1.EndpointSlice, name string) []slots.Endpoint {
	for i := range s.Ports {
		p := &s.Ports[i]
		if deref(p.Name, "") != name || !isTCP(deref(p.Protocol, "")) || p.Port == nil || *p.Port < 1 || *p.Port > 65535 {
			continue
		}
		for j := range s.Endpoints {
			e := &s.Endpoints[j]
			state := stateOf(e.Conditions)
			address, err := addressOf(e, s.AddressType)
			if state == snapshot.Free || err != nil {
				continue
			}
			found = append(found, slots.Endpoint{
				Name:    nameOf(e, s.Namespace, address, uint16(*p.Port)),
				Address: address,
				Port:    uint16(*p.Port),
				Weight:  snapshot.DefaultWeight,
				State:   state,
			})
		}
		return found // port names are unique in a slice
	}
	return found
}

func deref[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// stateOf: ready left out means ready, serving left out means the same as ready, terminating left out means false. Ready decides, also beside terminating
// (publishNotReadyAddresses); else what serves while it terminates drains.
func stateOf(c discoveryv1.EndpointConditions) snapshot.SlotState {
	ready := deref(c.Ready, true)
	switch {
	case ready:
		return snapshot.Ready
	case deref(c.Serving, ready) && deref(c.Terminating, false):
		return snapshot.Drain
	default:
		return snapshot.Free
	}
}

// addressOf reads the first address, the only one that has a meaning.
func addressOf(e *discoveryv1.Endpoint, family discoveryv1.AddressType) (netip.Addr, error) {
	if len(e.Addresses) == 0 {
		return netip.Addr{}, fmt.Errorf("an endpoint without an address")
	}
	a, err := netip.ParseAddr(e.Addresses[0])
	if err != nil || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() || a.Is4() != (family == discoveryv1.AddressTypeIPv4) || a.Is4In6() {
		return netip.Addr{}, fmt.Errorf("the address %q, which is not a usable one of type %s", clip(e.Addresses[0]), family)
	}
	if a == snapshot.Placeholder.Addr() {
		return netip.Addr{}, fmt.Errorf("the address %s, which is no pod's: free slots have it", a)
	}
	return a, nil
}

// nameOf is namespace/pod. The API does not look at a targetRef: one that names no possible pod counts for nothing, because a name that is too long for
// the protocol would hold up everybody's updates.
func nameOf(e *discoveryv1.Endpoint, namespace string, address netip.Addr, port uint16) string {
	if e.TargetRef != nil && e.TargetRef.Name != "" {
		if e.TargetRef.Namespace != "" {
			namespace = e.TargetRef.Namespace
		}
		if name := namespace + "/" + e.TargetRef.Name; len(name) <= snapshot.MaxEndpoint && isClean(name) {
			return name
		}
	}
	return netip.AddrPortFrom(address, port).String()
}

// once leaves one endpoint of each address and port: the readiest, and of equals the one that comes first by name.
func once(found []slots.Endpoint) []slots.Endpoint {
	slices.SortFunc(found, func(a, b slots.Endpoint) int {
		return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Port, b.Port), cmp.Compare(a.State, b.State), cmp.Compare(a.Name, b.Name))
	})
	return slices.CompactFunc(found, func(a, b slots.Endpoint) bool { return a.Address == b.Address && a.Port == b.Port })
}

func compareEndpoints(a, b slots.Endpoint) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), a.Address.Compare(b.Address), cmp.Compare(a.Port, b.Port))
}

// HasPort says whether a service has a TCP port of that name that endpoints are known for.
func HasPort(svc *corev1.Service, port Port) bool {
	return svc != nil && svc.Spec.Type != corev1.ServiceTypeExternalName && slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool {
		return p.Name == port.Name && isTCP(p.Protocol)
	})
}

// SliceNotes says what of a slice counts for nothing, whatever port is asked for.
func SliceNotes(s *discoveryv1.EndpointSlice) []Note {
	if s.AddressType == discoveryv1.AddressTypeFQDN {
		return []Note{warn("is of addressType FQDN, which is not supported; its endpoints are left out, use IPv4 or IPv6")}
	}
	var notes []Note
	for i := range s.Endpoints {
		if _, err := addressOf(&s.Endpoints[i], s.AddressType); err != nil {
			notes = append(notes, warn(fmt.Sprintf("holds %s; that endpoint is left out", err)))
		}
	}
	return notes
}
