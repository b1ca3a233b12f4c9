package source

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-proxy/berth/api/v1alpha1"
)

func TestKeyString(t *testing.T) {
	tests := []struct {
		key  Key
		want string
	}{
		{Key{Cluster: "a", Kind: KindIngress, Namespace: "shop", Name: "web"}, "Ingress shop/web"},
		{Key{Cluster: "a", Kind: KindFleet, Name: "edge"}, "Fleet edge"},
		{Key{Name: "web"}, "web"},
		{Key{Kind: "Deployment"}, "Deployment"},
	}
	for _, tt := range tests {
		if got := tt.key.String(); got != tt.want {
			t.Errorf("%#v reads %q, want %q", tt.key, got, tt.want)
		}
	}
}

func TestNewRowKnowsEveryKind(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "n", Namespace: "ns"}
	objects := map[Kind]Object{
		KindService:       &corev1.Service{ObjectMeta: meta},
		KindEndpointSlice: &discoveryv1.EndpointSlice{ObjectMeta: meta},
		KindIngress:       &networkingv1.Ingress{ObjectMeta: meta},
		KindIngressClass:  &networkingv1.IngressClass{ObjectMeta: meta},
		KindSecret:        &corev1.Secret{ObjectMeta: meta},
		KindFleet:         &v1alpha1.Fleet{ObjectMeta: meta},
		KindBackendPolicy: &v1alpha1.BackendPolicy{ObjectMeta: meta},
	}
	for _, kind := range Kinds() {
		if got, want := NewRow("c", objects[kind]).Key, (Key{"c", kind, "ns", "n"}); got != want {
			t.Errorf("NewRow gives %v, want %v", got, want)
		}
	}
	if _, ok := KindOf(&corev1.Pod{}); ok {
		t.Error("pods have become rows")
	}
}

// SRC-4: two objects that differ in bookkeeping only are the same object once trimmed.
func TestTrimTakesBookkeeping(t *testing.T) {
	plain := func() *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "u", Annotations: map[string]string{"berth.dev/balance": "random"}},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}
	}
	full := plain()
	full.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	full.Annotations[lastApplied] = "{}"
	full.ResourceVersion, full.Generation, full.Finalizers = "7", 2, []string{"x"}
	full.OwnerReferences = []metav1.OwnerReference{{Name: "owner"}}
	full.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.0.0.9"}}
	Trim(full)
	if !reflect.DeepEqual(full, plain()) {
		t.Errorf("trimmed: %+v\nwant %+v", full, plain())
	}
}
