package source

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-proxy/berth/api/v1alpha1"
)

// Object is a typed Kubernetes object. Delivered ones are never mutated (SRC-1).
type Object interface {
	metav1.Object
	runtime.Object
}

// Kind is a kind of object that sources deliver.
type Kind string

// The kinds that sources deliver, with the type of their rows' objects.
const (
	KindService       Kind = "Service"       // *corev1.Service
	KindEndpointSlice Kind = "EndpointSlice" // *discoveryv1.EndpointSlice
	KindIngress       Kind = "Ingress"       // *networkingv1.Ingress
	KindIngressClass  Kind = "IngressClass"  // *networkingv1.IngressClass
	KindSecret        Kind = "Secret"        // *corev1.Secret
	KindFleet         Kind = "Fleet"         // *v1alpha1.Fleet
	KindBackendPolicy Kind = "BackendPolicy" // *v1alpha1.BackendPolicy
)

// Kinds lists every Kind.
func Kinds() []Kind {
	return []Kind{KindService, KindEndpointSlice, KindIngress, KindIngressClass, KindSecret, KindFleet, KindBackendPolicy}
}

// Namespaced says whether objects of the kind live in a namespace.
func (k Kind) Namespaced() bool { return k != KindIngressClass && k != KindFleet }

// KindOf tells the kind of an object by its type; ok is false when sources do not deliver such objects.
func KindOf(object runtime.Object) (kind Kind, ok bool) {
	switch object.(type) {
	case *corev1.Service:
		return KindService, true
	case *discoveryv1.EndpointSlice:
		return KindEndpointSlice, true
	case *networkingv1.Ingress:
		return KindIngress, true
	case *networkingv1.IngressClass:
		return KindIngressClass, true
	case *corev1.Secret:
		return KindSecret, true
	case *v1alpha1.Fleet:
		return KindFleet, true
	case *v1alpha1.BackendPolicy:
		return KindBackendPolicy, true
	}
	return "", false
}

// Key names one object of one source.
type Key struct {
	Cluster   string
	Kind      Kind
	Namespace string // empty for kinds that are not namespaced
	Name      string
}

// String names the object as people see it, "Ingress shop/web" or "Fleet edge". It leaves the cluster out: whoever lists
// objects of several clusters writes that beside it.
func (k Key) String() string {
	name := k.Name
	if k.Namespace != "" {
		name = k.Namespace + "/" + k.Name
	}
	return strings.TrimSpace(string(k.Kind) + " " + name) // either may be unknown
}

// Row is one object under its key. The object's type is the one of its kind.
type Row struct {
	Key
	Object Object
}

// NewRow keys an object of a source. The object must be of a kind that sources deliver.
func NewRow(cluster string, object Object) Row {
	kind, ok := KindOf(object)
	if !ok {
		panic("BUG: a row for an object that sources do not deliver")
	}
	return Row{Key: Key{Cluster: cluster, Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}, Object: object}
}
