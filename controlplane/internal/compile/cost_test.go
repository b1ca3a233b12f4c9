package compile

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/store"
)

// moment is a change with the state that it leads to.
type moment struct {
	read    store.Read
	changes store.Changes
}

// sized makes a compiler of n backends, each with a service, a slice of five endpoints and an Ingress of its own, and changes that go round: an endpoint of one service
// goes and comes back; a path of one Ingress goes and comes back.
func sized(n int) (c *Compiler, endpoint, route [2]moment) {
	s := store.New("home")
	c = New("home")
	list := source.Batch{Source: "home", Full: true, Seen: time.Unix(1, 0)}
	for i := range n {
		name := fmt.Sprintf("svc-%05d", i)
		for _, o := range []source.Object{bigService(name), bigSlice(name, 5), bigIngress(name, 2)} {
			list.Put = append(list.Put, source.NewRow("home", o))
		}
	}
	changes := s.Apply(list)
	c.Compile(s.Read(), changes)
	name := fmt.Sprintf("svc-%05d", n/2)
	for i, o := range []source.Object{bigSlice(name, 4), bigSlice(name, 5), bigIngress(name, 1), bigIngress(name, 2)} {
		changes := s.Apply(source.Batch{Source: "home", Seen: time.Unix(2, 0), Put: []source.Row{source.NewRow("home", o)}})
		*[]*moment{&endpoint[0], &endpoint[1], &route[0], &route[1]}[i] = moment{s.Read(), changes}
	}
	return c, endpoint, route
}

func bigService(name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}
}

func bigSlice(name string, endpoints int) *discoveryv1.EndpointSlice {
	port, number := "http", int32(8080)
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &port, Port: &number}},
	}
	for i := range endpoints {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.0.0.%d", i+1)}, TargetRef: &corev1.ObjectReference{Name: fmt.Sprint("pod-", i)}})
	}
	return s
}

func bigIngress(name string, paths int) *networkingv1.Ingress {
	class := "berth"
	http := &networkingv1.HTTPIngressRuleValue{}
	for i := range paths {
		http.Paths = append(http.Paths, networkingv1.HTTPIngressPath{Path: []string{"/", "/a"}[i], Backend: networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: name, Port: networkingv1.ServiceBackendPort{Number: 80}}}})
	}
	return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: networkingv1.IngressSpec{
		IngressClassName: &class, Rules: []networkingv1.IngressRule{{Host: name + ".example.com", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: http}}}}}
}

// COMP-2, P8: what a change costs does not depend on how much there is.
func TestCostFollowsTheChange(t *testing.T) {
	measure := func(n int) (endpoint, route float64) {
		c, e, r := sized(n)
		round := func(m [2]moment) float64 {
			return testing.AllocsPerRun(50, func() {
				for _, step := range m {
					if list := c.Compile(step.read, step.changes); len(list) != 1 {
						t.Fatalf("%d fleets changed", len(list))
					}
				}
			})
		}
		return round(e), round(r)
	}
	smallE, smallR := measure(10)
	bigE, bigR := measure(10_000)
	t.Logf("allocations of two endpoint changes: %.0f at 10 backends, %.0f at 10,000; of two route changes: %.0f and %.0f", smallE, bigE, smallR, bigR)
	if bigE > smallE*1.05 {
		t.Errorf("an endpoint change allocates %.0f times at 10,000 backends, %.0f at 10", bigE, smallE)
	}
	// The trees of store and revision are a few levels deeper.
	if bigR > smallR*1.2 {
		t.Errorf("a route change allocates %.0f times at 10,000 backends, %.0f at 10", bigR, smallR)
	}
}

func BenchmarkEndpointChange(b *testing.B) { benchmark(b, func(e, _ [2]moment) [2]moment { return e }) }

func BenchmarkRouteChange(b *testing.B) { benchmark(b, func(_, r [2]moment) [2]moment { return r }) }

func benchmark(b *testing.B, which func(e, r [2]moment) [2]moment) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c, e, r := sized(n)
			m := which(e, r)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				c.Compile(m[i%2].read, m[i%2].changes)
				i++
			}
		})
	}
}

func BenchmarkFirstCompile(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := store.New("home")
			list := source.Batch{Source: "home", Full: true, Seen: time.Unix(1, 0)}
			for i := range n {
				name := fmt.Sprintf("svc-%05d", i)
				for _, o := range []source.Object{bigService(name), bigSlice(name, 5), bigIngress(name, 2)} {
					list.Put = append(list.Put, source.NewRow("home", o))
				}
			}
			changes := s.Apply(list)
			for b.Loop() {
				New("home").Compile(s.Read(), changes)
			}
		})
	}
}
