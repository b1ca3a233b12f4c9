package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/v1alpha1"
	"github.com/berth-proxy/berth/controlplane/internal/adoption"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what has to come.
const patience = 10 * time.Second

// rig is the plane from the store to the changelogs, running.
type rig struct {
	t      testing.TB
	store  *store.Store
	nodes  *node.Registry
	fleets *changelog.Directory
}

func start(t testing.TB, grace time.Duration, sources ...string) *rig {
	t.Helper()
	r := &rig{t: t, store: store.New(sources...), nodes: node.New(time.Now), fleets: changelog.NewDirectory()}
	e := New(Config{
		Store: r.store, Compiler: compile.New(sources[0], sources[1:]...), Nodes: r.nodes, Fleets: r.fleets,
		Log: zerolog.Nop(), Grace: grace, Return: grace, Adoption: adoption.Timing{Wait: 20 * time.Millisecond},
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r
}

// synced says that a source has been read in full, with these objects.
func (r *rig) synced(cluster string, objects ...source.Object) {
	r.apply(cluster, source.Batch{Full: true, State: &source.State{Listed: true, Synced: true}}, objects...)
}

// broken says that a source could be read in part only.
func (r *rig) broken(cluster string, objects ...source.Object) {
	r.apply(cluster, source.Batch{Full: true, State: &source.State{Listed: true, StaleSince: time.Now(), Error: "a.yaml cannot be read"}}, objects...)
}

func (r *rig) put(cluster string, objects ...source.Object) {
	r.apply(cluster, source.Batch{}, objects...)
}

func (r *rig) gone(cluster string, objects ...source.Object) {
	b := source.Batch{Source: cluster, Seen: time.Now()}
	for _, o := range objects {
		b.Gone = append(b.Gone, source.NewRow(cluster, o).Key)
	}
	r.store.Deliver(b)
}

func (r *rig) apply(cluster string, b source.Batch, objects ...source.Object) {
	b.Source, b.Seen = cluster, time.Now()
	for _, o := range objects {
		b.Put = append(b.Put, source.NewRow(cluster, o))
	}
	r.store.Deliver(b)
}

// fleet waits until the fleet is as wanted and returns its head.
func (r *rig) fleet(name, what string, wanted func(changelog.Fleet, *changelog.Head) bool) *changelog.Head {
	r.t.Helper()
	deadline := time.After(patience)
	for {
		fleets := r.fleets.Fleets()
		f, ok := fleets.Get(name)
		var superseded <-chan struct{}
		if ok {
			h := f.Log.Head()
			if wanted(f, h) {
				return h
			}
			superseded = h.Superseded()
		}
		select {
		case <-superseded:
		case <-fleets.Superseded():
		case <-deadline:
			r.t.Fatalf("%s: not within %s; the fleet is %+v", what, patience, f)
		}
	}
}

func published(_ changelog.Fleet, h *changelog.Head) bool { return h.Published() }

// seats waits until the backend's table holds these addresses, in this order, and no other.
func (r *rig) seats(what, backend string, want ...string) *changelog.Head {
	r.t.Helper()
	return r.fleet("default", what, func(_ changelog.Fleet, h *changelog.Head) bool {
		return fmt.Sprint(addresses(h.Generation.Table(backend))) == fmt.Sprint(want)
	})
}

func addresses(t *snapshot.Table) []string {
	var list []string
	if t == nil {
		return []string{"no table"}
	}
	for _, s := range t.Slots {
		if s.State != snapshot.Free {
			list = append(list, s.Address.String())
		}
	}
	return list
}

func service(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{
			Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(8080),
		}}},
	}
}

// slice has one endpoint for each address.
func slice(service string, addresses ...string) *discoveryv1.EndpointSlice {
	name, port, tcp, yes := "", int32(8080), corev1.ProtocolTCP, true
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: service + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: service},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &tcp}},
	}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{a}, Conditions: discoveryv1.EndpointConditions{Ready: &yes},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "pod-" + a},
		})
	}
	return s
}

// ingress routes host to the service.
func ingress(host, service string) *networkingv1.Ingress {
	class, prefix := "berth", networkingv1.PathTypePrefix
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: host},
		Spec: networkingv1.IngressSpec{IngressClassName: &class, Rules: []networkingv1.IngressRule{{
			Host: host + ".example.com",
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
				Path: "/", PathType: &prefix,
				Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
					Name: service, Port: networkingv1.ServiceBackendPort{Number: 80},
				}},
			}}}},
		}}},
	}
}

func fleetObject(name string, classes ...string) *v1alpha1.Fleet {
	return &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.FleetSpec{IngressClasses: classes}}
}

// web is a service with its route and endpoints.
func web(name string, addresses ...string) []source.Object {
	return []source.Object{service(name), ingress(name, name), slice(name, addresses...)}
}
