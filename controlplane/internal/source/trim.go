package source

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Trim takes from a new object what nobody downstream reads: most of a cluster's bytes are bookkeeping, and a change of
// bookkeeping alone must not look like a change (SRC-4). The object must not have been delivered yet (SRC-1).
func Trim(object Object) {
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	object.SetManagedFields(nil)
	object.SetOwnerReferences(nil)
	object.SetFinalizers(nil)
	object.SetSelfLink("")
	object.SetResourceVersion("")
	object.SetGeneration(0)
	if annotations := object.GetAnnotations(); annotations[lastApplied] != "" {
		delete(annotations, lastApplied)
	}
	switch o := object.(type) {
	case *corev1.Service:
		o.Status = corev1.ServiceStatus{}
	case *networkingv1.Ingress:
		o.Status = networkingv1.IngressStatus{}
	}
}
