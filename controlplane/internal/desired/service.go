package desired

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// Port is a TCP port of a service.
type Port struct {
	// Name is what endpoint slices know it by; empty where the service's only port has none.
	Name   string
	Number int32
	// AppProtocol is what the service says that is spoken there; empty where it does not say.
	AppProtocol string
}

// Hint is what the port's appProtocol says of how its endpoints are to be talked to, for who says nothing else. Beside the names that Kubernetes defines it
// takes those that other proxies have for HTTP/2 in clear text; any other name is about something that a proxy need not know.
func (p Port) Hint() Settings {
	switch p.AppProtocol {
	case "kubernetes.io/h2c", "h2c", "http2", "grpc":
		return Settings{Protocol: H2C}
	case "kubernetes.io/ws":
		return Settings{Balance: LeastConn} // connections that live long
	case "kubernetes.io/wss":
		return Settings{Balance: LeastConn, Protocol: HTTPS}
	case "https":
		return Settings{Protocol: HTTPS}
	default:
		return Settings{}
	}
}

// String is the port's name, or its number where it has none.
func (p Port) String() string {
	if p.Name != "" {
		return p.Name
	}
	return strconv.Itoa(int(p.Number))
}

// FindPort resolves a target to a port of its service, which is nil where there is none. A name and a number that mean the same port give the same Port.
func FindPort(svc *corev1.Service, ref Ref, t Target) (Port, error) {
	switch {
	case t.Fault != "":
		return Port{}, fmt.Errorf("%s", t.Fault)
	case svc == nil:
		return Port{}, fmt.Errorf("names the service %s, which does not exist; create it", ref)
	case svc.Spec.Type == corev1.ServiceTypeExternalName:
		return Port{}, fmt.Errorf("names the service %s, which is of type ExternalName; this is not supported", ref)
	}
	udp := false
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		if t.Port != "" && p.Name != t.Port || t.Port == "" && p.Port != t.Number {
			continue
		}
		if isTCP(p.Protocol) {
			return Port{Name: p.Name, Number: p.Port, AppProtocol: deref(p.AppProtocol, "")}, nil
		}
		udp = true
	}
	if udp {
		return Port{}, fmt.Errorf("names the port %s of service %s, which is not TCP", t.port(), ref)
	}
	return Port{}, fmt.Errorf("names the port %s, which service %s does not have", t.port(), ref)
}

func isTCP(p corev1.Protocol) bool { return p == "" || p == corev1.ProtocolTCP }

func (t Target) port() string {
	if t.Port != "" {
		return strconv.Quote(clip(t.Port))
	}
	return strconv.Itoa(int(t.Number))
}
