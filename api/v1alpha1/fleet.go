package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultFleetName is the name of the fleet that exists when there is no Fleet object at all.
const DefaultFleetName = "default"

// ControllerName is what an IngressClass names in spec.controller to be served by Berth.
const ControllerName = "berth.dev/ingress"

// Fleet is a set of HAProxy nodes that serve the same configuration.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:storageversion
type Fleet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec FleetSpec `json:"spec,omitempty"`
}

// FleetList is a list of Fleets.
//
// +kubebuilder:object:root=true
type FleetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Fleet `json:"items"`
}

// FleetSpec says what a fleet serves and how. Everything in it may be left out.
type FleetSpec struct {
	// Namespaces selects the namespaces whose objects the fleet serves; all of them when left out.
	// +optional
	Namespaces NamespaceSelector `json:"namespaces,omitempty"`

	// IngressClasses names the classes whose Ingresses the fleet serves; [berth] when left out.
	// +optional
	// +listType=set
	IngressClasses []string `json:"ingressClasses,omitempty"`

	// IngressWithoutClass serves Ingresses that name no class, as if a class object of this fleet were marked default.
	// +optional
	IngressWithoutClass bool `json:"ingressWithoutClass,omitempty"`

	// Slots sizes the slot tables of the fleet's backends.
	// +optional
	Slots SlotPolicy `json:"slots,omitempty"`

	// Timeouts are the fleet's; an Ingress or a policy may set others for its backends.
	// +optional
	Timeouts Timeouts `json:"timeouts,omitempty"`
}

// NamespaceSelector selects namespaces by globs of *, ? and [a-z], as in a shell.
type NamespaceSelector struct {
	// Include lists globs of which one must match; ["*"] when left out.
	// +optional
	Include []string `json:"include,omitempty"`

	// Exclude lists globs of which none may match.
	// +optional
	Exclude []string `json:"exclude,omitempty"`
}

// SlotPolicy says how long slot tables are. The fields are pointers so that a zero that was written can be told from
// a field that was left out.
type SlotPolicy struct {
	// Minimum is the least number of slots of a backend; 4 when left out.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4096
	Minimum *int32 `json:"minimum,omitempty"`

	// SurgePercent is the share of slots above the number of endpoints that a rolling update may need; 25 when left out.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	SurgePercent *int32 `json:"surgePercent,omitempty"`
}

// Timeouts are HAProxy's timeouts, each with the unit that it was given in.
type Timeouts struct {
	// Connect is how long a server may take to accept a connection; 500ms when left out.
	// +optional
	Connect Duration `json:"connect,omitempty"`

	// Client is how long a client may be silent; 60s when left out.
	// +optional
	Client Duration `json:"client,omitempty"`

	// Server is how long a server may be silent; 60s when left out.
	// +optional
	Server Duration `json:"server,omitempty"`

	// HTTPKeepAlive is how long an idle client connection is kept; 5s when left out. A leaving HAProxy worker may take one
	// more request on each idle connection for that long, so it is short on purpose.
	// +optional
	HTTPKeepAlive Duration `json:"httpKeepAlive,omitempty"`

	// HardStopAfter is how long a HAProxy worker that is leaving after a reload may finish what it has; 10m when left out. What takes longer, such as a WebSocket, is
	// cut off then. It is not shorter than HTTPKeepAlive, and counts for workers that start after it was set.
	// +optional
	HardStopAfter Duration `json:"hardStopAfter,omitempty"`
}

// NewFleet gives the Fleet that is there when nobody wrote one: it serves all namespaces and the class berth.
func NewFleet() *Fleet {
	f := &Fleet{
		TypeMeta:   metav1.TypeMeta{APIVersion: GroupVersion.String(), Kind: "Fleet"},
		ObjectMeta: metav1.ObjectMeta{Name: DefaultFleetName},
	}
	f.Default()
	return f
}
