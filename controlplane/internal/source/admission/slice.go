package admission

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What the API allows in one slice.
const (
	maxEndpoints = 1000
	maxPorts     = 100
	maxAddresses = 100
)

func defaultSlice(s *discoveryv1.EndpointSlice) {
	for i := range s.Ports {
		port := &s.Ports[i]
		if port.Name == nil {
			port.Name = new(string)
		}
		if port.Protocol == nil {
			tcp := corev1.ProtocolTCP
			port.Protocol = &tcp
		}
	}
}

// leaveOut takes the entries out of a slice that are not valid, and says which and why (ADM-3).
func leaveOut(s *discoveryv1.EndpointSlice) []string {
	if len(s.Endpoints) > maxEndpoints || len(s.Ports) > maxPorts {
		return nil // the slice is rejected as a whole
	}
	var warnings []string
	note := func(what string, i int, errs field.ErrorList) bool {
		if len(errs) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s %d is left out: %v", what, i, errs.ToAggregate()))
		}
		return len(errs) > 0
	}
	s.Endpoints = without(s.Endpoints, func(i int, e *discoveryv1.Endpoint) bool {
		return note("endpoint", i, validateEndpoint(e, s.AddressType, field.NewPath("endpoints").Index(i)))
	})
	names := map[string]bool{}
	s.Ports = without(s.Ports, func(i int, p *discoveryv1.EndpointPort) bool {
		return note("port", i, validateEndpointPort(p, names, field.NewPath("ports").Index(i)))
	})
	if s.Labels[discoveryv1.LabelServiceName] == "" {
		warnings = append(warnings, "metadata.labels: without "+discoveryv1.LabelServiceName+" the slice belongs to no service")
	}
	return warnings
}

// without keeps the order and the position numbers of what was written.
func without[T any](list []T, out func(i int, entry *T) bool) []T {
	kept := list[:0]
	for i := range list {
		if !out(i, &list[i]) {
			kept = append(kept, list[i])
		}
	}
	return kept
}

func validateSlice(s *discoveryv1.EndpointSlice) field.ErrorList {
	errs := oneOf(field.NewPath("addressType"), s.AddressType,
		discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6, discoveryv1.AddressTypeFQDN)
	if len(s.Endpoints) > maxEndpoints {
		errs = append(errs, field.TooMany(field.NewPath("endpoints"), len(s.Endpoints), maxEndpoints))
	}
	if len(s.Ports) > maxPorts {
		errs = append(errs, field.TooMany(field.NewPath("ports"), len(s.Ports), maxPorts))
	}
	return errs
}

func validateEndpoint(e *discoveryv1.Endpoint, addressType discoveryv1.AddressType, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := path.Child("addresses")
	if len(e.Addresses) == 0 {
		errs = append(errs, field.Required(at, "must contain at least 1 address"))
	}
	if len(e.Addresses) > maxAddresses {
		return append(errs, field.TooMany(at, len(e.Addresses), maxAddresses))
	}
	for i, address := range e.Addresses {
		errs = append(errs, validateAddress(address, addressType, at.Index(i))...)
	}
	if e.Hostname != nil {
		errs = append(errs, invalid(path.Child("hostname"), *e.Hostname, validation.IsDNS1123Label)...)
	}
	if e.NodeName != nil {
		errs = append(errs, invalid(path.Child("nodeName"), *e.NodeName, validation.IsDNS1123Subdomain)...)
	}
	return errs
}

// validateAddress lets an address of an unknown type pass: the slice is rejected for its type.
func validateAddress(address string, addressType discoveryv1.AddressType, path *field.Path) field.ErrorList {
	switch addressType {
	case discoveryv1.AddressTypeIPv4:
		return invalid(path, address, func(text string) []string { return checkIP(text, netip.Addr.Is4, "IPv4") })
	case discoveryv1.AddressTypeIPv6:
		return invalid(path, address, func(text string) []string {
			return checkIP(text, func(ip netip.Addr) bool { return ip.Is6() && !ip.Is4In6() && ip.Zone() == "" }, "IPv6")
		})
	case discoveryv1.AddressTypeFQDN:
		return validation.IsFullyQualifiedDomainName(path, address)
	}
	return nil
}

// checkIP refuses addresses that cannot be a pod's. 127.0.0.0/8 can, here.
func checkIP(text string, family func(netip.Addr) bool, name string) []string {
	ip, err := netip.ParseAddr(text)
	switch {
	case err != nil || !family(ip):
		return []string{"must be an " + name + " address"}
	case ip.IsUnspecified():
		return []string{"may not be unspecified"}
	case ip.IsLoopback() && !ip.Is4():
		return []string{"may not be the loopback address"}
	case ip.IsLinkLocalUnicast():
		return []string{"may not be link-local"}
	case ip.IsMulticast():
		return []string{"may not be multicast"}
	case ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return []string{"may not be broadcast"}
	}
	return nil
}

// validateEndpointPort checks an entry beside the names of the valid ones before it.
func validateEndpointPort(p *discoveryv1.EndpointPort, names map[string]bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if *p.Name != "" {
		errs = append(errs, invalid(path.Child("name"), *p.Name, validation.IsDNS1123Label)...)
	}
	if names[*p.Name] {
		errs = append(errs, field.Duplicate(path.Child("name"), *p.Name))
	}
	errs = append(errs, validateProtocol(*p.Protocol, path.Child("protocol"))...)
	if p.Port != nil {
		errs = append(errs, invalidPort(path.Child("port"), *p.Port)...)
	}
	if p.AppProtocol != nil {
		errs = append(errs, invalid(path.Child("appProtocol"), *p.AppProtocol, validation.IsQualifiedName)...)
	}
	if len(errs) == 0 {
		names[*p.Name] = true
	}
	return errs
}
