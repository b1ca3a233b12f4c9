package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BackendPolicy says how the pods of Services are talked to, for whoever routes to them. It says the same as the annotations of an Ingress, and wins over
// them field by field.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=backendpolicies
// +kubebuilder:storageversion
type BackendPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BackendPolicySpec `json:"spec"`
}

// BackendPolicyList is a list of BackendPolicies.
//
// +kubebuilder:object:root=true
type BackendPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []BackendPolicy `json:"items"`
}

// BackendPolicySpec names the Services and says what shall be otherwise. What is left out stays as the Ingress or the fleet has it.
type BackendPolicySpec struct {
	// TargetRefs names what the policy is for: Services of its own namespace, or single ports of them. Of two policies for the same target the older one counts. One for
	// a port stands over one for its whole Service.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	TargetRefs []PolicyTarget `json:"targetRefs"`

	// Balance spreads requests over the pods.
	// +optional
	Balance Balance `json:"balance,omitempty"`

	// Timeouts of the pods' side.
	// +optional
	Timeouts BackendTimeouts `json:"timeouts,omitempty"`

	// Affinity keeps a client with one pod. Given without a cookie, it switches off what an annotation asks for.
	// +optional
	Affinity *Affinity `json:"affinity,omitempty"`

	// Check lets HAProxy check the pods itself, beside what Kubernetes says of them. Given without http and tcp, it switches off what an annotation asks for.
	// +optional
	Check *HealthCheck `json:"check,omitempty"`

	// Protocol is what is spoken to the pods.
	// +optional
	Protocol Protocol `json:"protocol,omitempty"`

	// Slots sizes the slot tables.
	// +optional
	Slots BackendSlots `json:"slots,omitempty"`

	// MaxConnectionsPerPod is the most requests that one node has under way at one pod.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MaxConnectionsPerPod *int32 `json:"maxConnectionsPerPod,omitempty"`
}

// PolicyTarget names a Service of the policy's namespace.
type PolicyTarget struct {
	// Group of the target; empty for the core group, which Services are of.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// Kind of the target: Service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// Name of the target.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// SectionName is the name of one of the Service's ports; all of them when left out.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SectionName *string `json:"sectionName,omitempty"`
}

// Balance names how requests are spread over pods.
//
// +kubebuilder:validation:Enum=roundrobin;leastconn;random;source;uri
type Balance string

// Protocol names what is spoken to pods.
//
// +kubebuilder:validation:Enum=http;h2c;https;h2
type Protocol string

// StickyDrain says what becomes of the clients that stay with a pod which terminates.
//
// +kubebuilder:validation:Enum=keep;break
type StickyDrain string

// BackendTimeouts are HAProxy's timeouts towards pods, each with the unit that it was given in.
type BackendTimeouts struct {
	// Connect is how long a pod may take to accept a connection.
	// +optional
	Connect Duration `json:"connect,omitempty"`

	// Server is how long a pod may be silent.
	// +optional
	Server Duration `json:"server,omitempty"`

	// Queue is how long a request waits for a pod that may take no more.
	// +optional
	Queue Duration `json:"queue,omitempty"`
}

// Affinity keeps a client with one pod.
//
// +kubebuilder:validation:XValidation:rule="!has(self.stickyDrain) || has(self.cookie)",message="without a cookie no client is sticky"
type Affinity struct {
	// Cookie keeps it by a cookie that HAProxy sets and pods do not see.
	// +optional
	Cookie *AffinityCookie `json:"cookie,omitempty"`

	// StickyDrain: keep lets clients stay with a pod that terminates, break sends them to another as soon as one is ready; break when left out.
	// +optional
	StickyDrain StickyDrain `json:"stickyDrain,omitempty"`
}

// AffinityCookie is the cookie of an affinity.
type AffinityCookie struct {
	// Name of the cookie; one of the service port's own when left out. Services that share a host must not share a name.
	// +optional
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.-]{1,64}$`
	Name string `json:"name,omitempty"`
}

// HealthCheck is how HAProxy checks pods: by http or by tcp.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.http) && has(self.tcp))",message="a check is by http or by tcp"
// +kubebuilder:validation:XValidation:rule="!has(self.interval) || has(self.http) || has(self.tcp)",message="an interval needs http or tcp"
type HealthCheck struct {
	// HTTP asks for a path and wants an answer below 400.
	// +optional
	HTTP *HTTPCheck `json:"http,omitempty"`

	// TCP wants a connection, and over TLS a handshake.
	// +optional
	TCP *TCPCheck `json:"tcp,omitempty"`

	// Interval between two checks; 2s when left out.
	// +optional
	Interval Duration `json:"interval,omitempty"`
}

// HTTPCheck is a check by a request.
type HTTPCheck struct {
	// Path that is asked for.
	// +kubebuilder:validation:Pattern=`^/[!-"$-~]*$`
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path"`
}

// TCPCheck is a check by a connection.
type TCPCheck struct{}

// BackendSlots sizes the slot tables of a backend.
type BackendSlots struct {
	// Minimum is the least number of slots.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4096
	Minimum *int32 `json:"minimum,omitempty"`
}
