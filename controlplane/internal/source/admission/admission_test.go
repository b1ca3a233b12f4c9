package admission

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berth-proxy/berth/api/v1alpha1"
	"github.com/berth-proxy/berth/controlplane/internal/source"
)

func ptr[T any](v T) *T { return &v }

func meta() metav1.ObjectMeta { return metav1.ObjectMeta{Name: "web", Namespace: "shop"} }

func serviceOf(change func(*corev1.Service)) source.Object {
	s := &corev1.Service{ObjectMeta: meta(), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	change(s)
	return s
}

func sliceOf(change func(*discoveryv1.EndpointSlice)) source.Object {
	s := &discoveryv1.EndpointSlice{ObjectMeta: meta(), AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{Port: ptr(int32(8080))}}, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}}}
	s.Labels = map[string]string{discoveryv1.LabelServiceName: "web"}
	change(s)
	return s
}

func ingressOf(change func(*networkingv1.Ingress)) source.Object {
	ing := &networkingv1.Ingress{ObjectMeta: meta(), Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
		Host: "shop.example.com",
		IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
			Path: "/", PathType: ptr(networkingv1.PathTypePrefix),
			Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
				Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}},
		}}}},
	}}}}
	change(ing)
	return ing
}

// path gives the only path of ingressOf.
func path(ing *networkingv1.Ingress) *networkingv1.HTTPIngressPath {
	return &ing.Spec.Rules[0].HTTP.Paths[0]
}

func secretOf(change func(*corev1.Secret)) source.Object {
	s := &corev1.Secret{ObjectMeta: meta()}
	change(s)
	return s
}

func classOf(controller string) source.Object {
	return &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "berth"}, Spec: networkingv1.IngressClassSpec{Controller: controller}}
}

// ADM-1 and ADM-2: each case breaks one thing; the errors name that field and no other, and what is admitted is admitted again
// as it is.
func TestAdmit(t *testing.T) {
	tests := []struct {
		name   string
		object source.Object
		fields string // of the errors, in order; "" when the object is admitted
	}{
		{"service", serviceOf(func(*corev1.Service) {}), ""},
		{"service named as a domain", serviceOf(func(s *corev1.Service) { s.Name = "web.shop" }), "metadata.name"},
		{"service named by a digit", serviceOf(func(s *corev1.Service) { s.Name = "1web" }), "metadata.name"},
		{"no name", serviceOf(func(s *corev1.Service) { s.Name = "" }), "metadata.name"},
		{"namespace", serviceOf(func(s *corev1.Service) { s.Namespace = "a.b" }), "metadata.namespace"},
		{"label", serviceOf(func(s *corev1.Service) { s.Labels = map[string]string{"a": "b c"} }), "metadata.labels"},
		{"annotation", serviceOf(func(s *corev1.Service) { s.Annotations = map[string]string{"a b": "c"} }), "metadata.annotations"},
		{"no ports", serviceOf(func(s *corev1.Service) { s.Spec.Ports = nil }), "spec.ports"},
		{"headless without ports", serviceOf(func(s *corev1.Service) { s.Spec.Ports, s.Spec.ClusterIP = nil, "None" }), ""},
		{"external", serviceOf(func(s *corev1.Service) {
			s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "db.example.com"}
		}), ""},
		{"external of two labels", serviceOf(func(s *corev1.Service) {
			s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com."}
		}), ""},
		{"external without name", serviceOf(func(s *corev1.Service) { s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName} }), "spec.externalName"},
		{"type", serviceOf(func(s *corev1.Service) { s.Spec.Type = "Magic" }), "spec.type"},
		{"affinity", serviceOf(func(s *corev1.Service) { s.Spec.SessionAffinity = "Cookie" }), "spec.sessionAffinity"},
		{"port zero", serviceOf(func(s *corev1.Service) { s.Spec.Ports[0] = corev1.ServicePort{TargetPort: intstr.FromInt32(80)} }), "spec.ports[0].port"},
		{"port too large", serviceOf(func(s *corev1.Service) {
			s.Spec.Ports[0] = corev1.ServicePort{Port: 65536, TargetPort: intstr.FromString("http")}
		}), "spec.ports[0].port"},
		{"target port", serviceOf(func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(-1) }), "spec.ports[0].targetPort"},
		{"target port name", serviceOf(func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString("8080") }), "spec.ports[0].targetPort"},
		{"protocol", serviceOf(func(s *corev1.Service) { s.Spec.Ports[0].Protocol = "tcp" }), "spec.ports[0].protocol"},
		{"app protocol", serviceOf(func(s *corev1.Service) { s.Spec.Ports[0].AppProtocol = ptr("h2 c") }), "spec.ports[0].appProtocol"},
		{"ports without names", serviceOf(func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{{Port: 80}, {Port: 81}} }),
			"spec.ports[0].name spec.ports[1].name"},
		{"port names", serviceOf(func(s *corev1.Service) {
			s.Spec.Ports = []corev1.ServicePort{{Name: "a", Port: 80}, {Name: "a", Port: 81}, {Name: "B", Port: 82}}
		}), "spec.ports[1].name spec.ports[2].name"},
		{"port twice", serviceOf(func(s *corev1.Service) {
			s.Spec.Ports = []corev1.ServicePort{{Name: "a", Port: 80}, {Name: "b", Port: 80}}
		}), "spec.ports[1].port"},
		{"port twice, two protocols", serviceOf(func(s *corev1.Service) {
			s.Spec.Ports = []corev1.ServicePort{{Name: "a", Port: 53}, {Name: "b", Port: 53, Protocol: corev1.ProtocolUDP}}
		}), ""},
		{"families", serviceOf(func(s *corev1.Service) { s.Spec.IPFamilies = []corev1.IPFamily{"IPv4", "IPv5"} }), "spec.ipFamilies[1]"},
		{"family twice", serviceOf(func(s *corev1.Service) { s.Spec.IPFamilies = []corev1.IPFamily{"IPv4", "IPv4"} }), "spec.ipFamilies[1]"},
		{"three families", serviceOf(func(s *corev1.Service) { s.Spec.IPFamilies = []corev1.IPFamily{"IPv4", "IPv6", "IPv4"} }), "spec.ipFamilies"},
		{"family policy", serviceOf(func(s *corev1.Service) { s.Spec.IPFamilyPolicy = ptr(corev1.IPFamilyPolicy("Any")) }), "spec.ipFamilyPolicy"},

		{"slice", sliceOf(func(*discoveryv1.EndpointSlice) {}), ""},
		{"slice named as a domain", sliceOf(func(s *discoveryv1.EndpointSlice) { s.Name = "web.1" }), ""},
		{"empty slice", sliceOf(func(s *discoveryv1.EndpointSlice) { s.Endpoints, s.Ports = nil, nil }), ""},
		{"no address type", sliceOf(func(s *discoveryv1.EndpointSlice) { s.AddressType = "" }), "addressType"},
		{"address type", sliceOf(func(s *discoveryv1.EndpointSlice) { s.AddressType = "IP" }), "addressType"},
		{"too many endpoints", sliceOf(func(s *discoveryv1.EndpointSlice) { s.Endpoints = make([]discoveryv1.Endpoint, 1001) }), "endpoints"},
		{"too many ports", sliceOf(func(s *discoveryv1.EndpointSlice) { s.Ports = make([]discoveryv1.EndpointPort, 101) }), "ports"},

		{"ingress", ingressOf(func(*networkingv1.Ingress) {}), ""},
		{"nothing in it", ingressOf(func(i *networkingv1.Ingress) { i.Spec = networkingv1.IngressSpec{} }), "spec"},
		{"default backend alone", ingressOf(func(i *networkingv1.Ingress) {
			i.Spec = networkingv1.IngressSpec{DefaultBackend: &path(i).Backend}
		}), ""},
		{"host in capitals", ingressOf(func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "Shop.example.com" }), "spec.rules[0].host"},
		{"host with a port", ingressOf(func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "shop.example.com:80" }), "spec.rules[0].host"},
		{"host is an address", ingressOf(func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "10.0.0.1" }), "spec.rules[0].host"},
		{"wildcard", ingressOf(func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "*.example.com" }), ""},
		{"wildcard of two labels", ingressOf(func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "*.*.example.com" }), "spec.rules[0].host"},
		{"wildcard inside", ingressOf(func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "a.*.example.com" }), "spec.rules[0].host"},
		{"wildcard alone", ingressOf(func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "*" }), "spec.rules[0].host"},
		{"no host", ingressOf(func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "" }), ""},
		{"no http", ingressOf(func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP = nil }), ""},
		{"no paths", ingressOf(func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths = nil }), "spec.rules[0].http.paths"},
		{"no path type", ingressOf(func(i *networkingv1.Ingress) { path(i).PathType = nil }), "spec.rules[0].http.paths[0].pathType"},
		{"path type", ingressOf(func(i *networkingv1.Ingress) { path(i).PathType = ptr(networkingv1.PathType("Regex")) }), "spec.rules[0].http.paths[0].pathType"},
		{"relative path", ingressOf(func(i *networkingv1.Ingress) { path(i).Path = "foo" }), "spec.rules[0].http.paths[0].path"},
		{"empty path", ingressOf(func(i *networkingv1.Ingress) { path(i).Path = "" }), "spec.rules[0].http.paths[0].path"},
		{"path //", ingressOf(func(i *networkingv1.Ingress) { path(i).Path = "/a//b" }), "spec.rules[0].http.paths[0].path"},
		{"path /../", ingressOf(func(i *networkingv1.Ingress) { path(i).Path = "/a/../b" }), "spec.rules[0].http.paths[0].path"},
		{"path /./", ingressOf(func(i *networkingv1.Ingress) { path(i).Path = "/a/./b" }), "spec.rules[0].http.paths[0].path"},
		{"path /..", ingressOf(func(i *networkingv1.Ingress) { path(i).Path = "/a/.." }), "spec.rules[0].http.paths[0].path"},
		{"path %2F", ingressOf(func(i *networkingv1.Ingress) { path(i).Path = "/a%2Fb" }), "spec.rules[0].http.paths[0].path"},
		{"path %2f exact", ingressOf(func(i *networkingv1.Ingress) {
			path(i).Path, path(i).PathType = "/a%2fb", ptr(networkingv1.PathTypeExact)
		}), "spec.rules[0].http.paths[0].path"},
		{"implementation-specific", ingressOf(func(i *networkingv1.Ingress) {
			path(i).Path, path(i).PathType = "/a//b/..", ptr(networkingv1.PathTypeImplementationSpecific)
		}), ""},
		{"implementation-specific, any", ingressOf(func(i *networkingv1.Ingress) {
			path(i).Path, path(i).PathType = "", ptr(networkingv1.PathTypeImplementationSpecific)
		}), ""},
		{"implementation-specific, relative", ingressOf(func(i *networkingv1.Ingress) {
			path(i).Path, path(i).PathType = "a", ptr(networkingv1.PathTypeImplementationSpecific)
		}), "spec.rules[0].http.paths[0].path"},
		{"no backend", ingressOf(func(i *networkingv1.Ingress) { path(i).Backend = networkingv1.IngressBackend{} }), "spec.rules[0].http.paths[0].backend"},
		{"two backends", ingressOf(func(i *networkingv1.Ingress) { path(i).Backend.Resource = &corev1.TypedLocalObjectReference{} }), "spec.rules[0].http.paths[0].backend"},
		{"resource", ingressOf(func(i *networkingv1.Ingress) {
			path(i).Backend = networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{Kind: "Bucket", Name: "b"}}
		}), ""},
		{"half a resource", ingressOf(func(i *networkingv1.Ingress) {
			path(i).Backend = networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{Kind: "Bucket"}}
		}), "spec.rules[0].http.paths[0].backend.resource"},
		{"no service name", ingressOf(func(i *networkingv1.Ingress) { path(i).Backend.Service.Name = "" }), "spec.rules[0].http.paths[0].backend.service.name"},
		{"service name", ingressOf(func(i *networkingv1.Ingress) { path(i).Backend.Service.Name = "web.shop" }), "spec.rules[0].http.paths[0].backend.service.name"},
		{"no service port", ingressOf(func(i *networkingv1.Ingress) { path(i).Backend.Service.Port.Number = 0 }), "spec.rules[0].http.paths[0].backend.service.port"},
		{"two service ports", ingressOf(func(i *networkingv1.Ingress) { path(i).Backend.Service.Port.Name = "http" }), "spec.rules[0].http.paths[0].backend.service.port"},
		{"service port", ingressOf(func(i *networkingv1.Ingress) { path(i).Backend.Service.Port.Number = 70000 }), "spec.rules[0].http.paths[0].backend.service.port.number"},
		{"service port name", ingressOf(func(i *networkingv1.Ingress) {
			path(i).Backend.Service.Port = networkingv1.ServiceBackendPort{Name: "a_long_name_of_a_port"}
		}), "spec.rules[0].http.paths[0].backend.service.port.name"},
		{"class", ingressOf(func(i *networkingv1.Ingress) { i.Spec.IngressClassName = ptr("Berth") }), "spec.ingressClassName"},
		{"two classes", ingressOf(func(i *networkingv1.Ingress) {
			i.Spec.IngressClassName, i.Annotations = ptr("berth"), map[string]string{"kubernetes.io/ingress.class": "other"}
		}), "metadata.annotations[kubernetes.io/ingress.class]"},
		{"one class twice", ingressOf(func(i *networkingv1.Ingress) {
			i.Spec.IngressClassName, i.Annotations = ptr("berth"), map[string]string{"kubernetes.io/ingress.class": "berth"}
		}), ""},
		{"tls", ingressOf(func(i *networkingv1.Ingress) {
			i.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"shop.example.com", "*.example.com"}, SecretName: "cert"}, {}}
		}), ""},
		{"tls host", ingressOf(func(i *networkingv1.Ingress) { i.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"a", "b c"}}} }), "spec.tls[0].hosts[1]"},
		{"tls secret", ingressOf(func(i *networkingv1.Ingress) { i.Spec.TLS = []networkingv1.IngressTLS{{SecretName: "A"}} }), "spec.tls[0].secretName"},

		{"class object", classOf("berth.dev/ingress"), ""},
		{"class without controller", classOf(""), "spec.controller"},
		{"class controller", classOf("berth"), "spec.controller"},
		{"class controller too long", classOf("berth.dev/" + strings.Repeat("a", 250)), "spec.controller"},

		{"secret", secretOf(func(*corev1.Secret) {}), ""},
		{"secret key", secretOf(func(s *corev1.Secret) { s.StringData = map[string]string{"a b": "c"} }), "data[a b]"},
		{"secret too large", secretOf(func(s *corev1.Secret) { s.Data = map[string][]byte{"a": make([]byte, corev1.MaxSecretSize+1)} }), "data"},
		{"certificate from text", secretOf(func(s *corev1.Secret) {
			s.Type, s.StringData = corev1.SecretTypeTLS, map[string]string{"tls.crt": "not a certificate", "tls.key": ""}
		}), ""},
		{"certificate without key", secretOf(func(s *corev1.Secret) { s.Type, s.Data = corev1.SecretTypeTLS, map[string][]byte{"tls.crt": {1}} }), "data[tls.key]"},

		{"fleet", &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: "edge"}}, ""},
		{"policy", &v1alpha1.BackendPolicy{ObjectMeta: meta(), Spec: v1alpha1.BackendPolicySpec{TargetRefs: []v1alpha1.PolicyTarget{{Kind: "Service", Name: "web"}}}}, ""},
		{"policy without a target", &v1alpha1.BackendPolicy{ObjectMeta: meta()}, "spec.targetRefs"},
		{"policy name", &v1alpha1.BackendPolicy{ObjectMeta: metav1.ObjectMeta{Name: "Web", Namespace: "shop"}, Spec: v1alpha1.BackendPolicySpec{TargetRefs: []v1alpha1.PolicyTarget{{Kind: "Service", Name: "web"}}}}, "metadata.name"},
		{"fleet name", &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: "Edge"}}, "metadata.name"},
		{"fleet slots", &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: "edge"}, Spec: v1alpha1.FleetSpec{Slots: v1alpha1.SlotPolicy{Minimum: ptr(int32(0))}}}, "spec.slots.minimum"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			warnings, errs := Admit(tt.object)
			if got := fields(errs); got != tt.fields {
				t.Fatalf("errors at %q, want %q: %v", got, tt.fields, errs)
			}
			if len(errs) > 0 {
				return
			}
			if len(warnings) > 0 {
				t.Errorf("warned: %v", warnings)
			}
			again := tt.object.DeepCopyObject().(source.Object)
			if _, errs := Admit(again); len(errs) > 0 || !reflect.DeepEqual(again, tt.object) {
				t.Errorf("ADM-2: admitted again it is %+v, was %+v (%v)", again, tt.object, errs)
			}
		})
	}
}

func fields(errs field.ErrorList) string {
	var list []string
	for _, err := range errs {
		list = append(list, err.Field)
	}
	return strings.Join(list, " ")
}

func TestDefaults(t *testing.T) {
	s := serviceOf(func(s *corev1.Service) {
		s.Namespace = ""
		s.Spec.Ports = []corev1.ServicePort{{Name: "a", Port: 80}, {Name: "b", Port: 81, TargetPort: intstr.FromString("http"), Protocol: "UDP"}}
	}).(*corev1.Service)
	Admit(s)
	a, b := s.Spec.Ports[0], s.Spec.Ports[1]
	if s.Namespace != "default" || s.Spec.Type != "ClusterIP" || s.Spec.SessionAffinity != "None" || a.Protocol != "TCP" ||
		a.TargetPort != intstr.FromInt32(80) || b.Protocol != "UDP" || b.TargetPort != intstr.FromString("http") {
		t.Errorf("a service becomes %+v", s)
	}

	slice := sliceOf(func(*discoveryv1.EndpointSlice) {}).(*discoveryv1.EndpointSlice)
	Admit(slice)
	if p := slice.Ports[0]; p.Name == nil || *p.Name != "" || *p.Protocol != "TCP" {
		t.Errorf("a slice's port becomes %+v", p)
	}

	secret := secretOf(func(s *corev1.Secret) {
		s.Data, s.StringData = map[string][]byte{"a": []byte("old"), "b": []byte("kept")}, map[string]string{"a": "new"}
	}).(*corev1.Secret)
	Admit(secret)
	if string(secret.Data["a"]) != "new" || string(secret.Data["b"]) != "kept" || secret.StringData != nil || secret.Type != "Opaque" {
		t.Errorf("a secret becomes %+v", secret)
	}

	fleet := &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: "edge", Namespace: "shop"}}
	warnings, _ := Admit(fleet)
	if fleet.Namespace != "" || len(warnings) != 1 || fleet.Spec.Timeouts.Client != "60s" {
		t.Errorf("a fleet becomes %+v, warned %v", fleet, warnings)
	}
}

// ADM-3: of the addresses that a slice may name, each alone in an endpoint.
func TestEndpointAddresses(t *testing.T) {
	tests := []struct {
		kind    discoveryv1.AddressType
		address string
		stays   bool
	}{
		{"IPv4", "10.0.0.1", true}, {"IPv4", "127.0.0.1", true}, {"IPv4", "127.1.2.3", true}, {"IPv4", "192.0.2.1", true},
		{"IPv4", "0.0.0.0", false}, {"IPv4", "169.254.169.254", false}, {"IPv4", "224.0.0.1", false}, {"IPv4", "239.1.1.1", false},
		{"IPv4", "255.255.255.255", false}, {"IPv4", "10.0.0.01", false}, {"IPv4", "10.0.0", false}, {"IPv4", "10.0.0.1:80", false},
		{"IPv4", "", false}, {"IPv4", "fd00::1", false}, {"IPv4", "10.0.0.1\n", false},
		{"IPv6", "fd00::1", true}, {"IPv6", "::1", false}, {"IPv6", "::", false}, {"IPv6", "fe80::1", false}, {"IPv6", "ff02::1", false},
		{"IPv6", "::ffff:10.0.0.1", false}, {"IPv6", "fd00::1%eth0", false}, {"IPv6", "10.0.0.1", false},
		{"FQDN", "pod.example.com", true}, {"FQDN", "pod", false}, {"FQDN", "pod example.com", false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.kind, tt.address), func(t *testing.T) {
			s := sliceOf(func(s *discoveryv1.EndpointSlice) {
				s.AddressType = tt.kind
				s.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{tt.address}}}
			}).(*discoveryv1.EndpointSlice)
			warnings, errs := Admit(s)
			if len(errs) > 0 || (len(s.Endpoints) == 1) != tt.stays || (len(warnings) == 0) != tt.stays {
				t.Errorf("left %v, warned %v, errors %v", s.Endpoints, warnings, errs)
			}
		})
	}
}

// ADM-3: bad entries go with a warning that numbers them as they were written; the good ones stay, in order.
func TestBadEntriesAreLeftOut(t *testing.T) {
	tcp := corev1.ProtocolTCP
	s := sliceOf(func(s *discoveryv1.EndpointSlice) {
		s.Labels = nil
		s.Endpoints = []discoveryv1.Endpoint{
			{Addresses: []string{"10.0.0.1"}},
			{},
			{Addresses: []string{"10.0.0.2", "banana"}},
			{Addresses: []string{"10.0.0.3"}, Hostname: ptr("a.b")},
			{Addresses: []string{"10.0.0.4"}, NodeName: ptr("Node 1")},
			{Addresses: []string{"10.0.0.5"}, Hostname: ptr("a"), NodeName: ptr("node-1")},
		}
		s.Ports = []discoveryv1.EndpointPort{
			{Name: ptr("http"), Port: ptr(int32(0))},
			{Name: ptr("http"), Port: ptr(int32(8080))},
			{Name: ptr("http"), Port: ptr(int32(8081))},
			{Name: ptr("HTTP"), Port: ptr(int32(8082))},
			{Name: ptr("raw"), Protocol: ptr(corev1.Protocol("ICMP"))},
			{Name: ptr("any"), Protocol: &tcp},
			{Name: ptr("app"), AppProtocol: ptr("a b")},
		}
	}).(*discoveryv1.EndpointSlice)
	warnings, errs := Admit(s)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var left []string
	for _, e := range s.Endpoints {
		left = append(left, e.Addresses[0])
	}
	for _, p := range s.Ports {
		left = append(left, *p.Name)
	}
	if got := strings.Join(left, " "); got != "10.0.0.1 10.0.0.5 http any" || *s.Ports[0].Port != 8080 {
		t.Errorf("left: %s, http is %d", got, *s.Ports[0].Port)
	}
	var said []string
	for _, w := range warnings {
		said = append(said, strings.Join(strings.Fields(w)[:2], " "))
	}
	if got := strings.Join(said, ", "); got != "endpoint 1, endpoint 2, endpoint 3, endpoint 4, port 0, port 2, port 3, port 4, port 6, metadata.labels: without" {
		t.Errorf("warned about: %s\n%s", got, strings.Join(warnings, "\n"))
	}
}
