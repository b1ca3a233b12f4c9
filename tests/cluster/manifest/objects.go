package manifest

// Object is a Kubernetes object that Dir can write.
type Object interface {
	// ID says which object it is: its file's name follows from it.
	ID() ID
}

// ID names one object.
type ID struct{ Kind, Namespace, Name string }

// TypeMeta is the head of every object.
type TypeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// Meta is the part of an object's metadata that tests set.
type Meta struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	CreationTimestamp string            `json:"creationTimestamp,omitempty"`
}

// Service is a v1 Service without a selector.
type Service struct {
	TypeMeta
	Metadata Meta        `json:"metadata"`
	Spec     ServiceSpec `json:"spec"`
}

// ServiceSpec holds a Service's ports.
type ServiceSpec struct {
	Type         string        `json:"type,omitempty"`
	ClusterIP    string        `json:"clusterIP,omitempty"`
	ExternalName string        `json:"externalName,omitempty"`
	Ports        []ServicePort `json:"ports,omitempty"`
}

// ServicePort is one port of a Service.
type ServicePort struct {
	Name        string `json:"name,omitempty"`
	Port        int    `json:"port"`
	TargetPort  any    `json:"targetPort,omitempty"`
	Protocol    string `json:"protocol,omitempty"`
	AppProtocol string `json:"appProtocol,omitempty"`
}

// EndpointSlice is a discovery.k8s.io/v1 EndpointSlice.
type EndpointSlice struct {
	TypeMeta
	Metadata    Meta           `json:"metadata"`
	AddressType string         `json:"addressType"`
	Ports       []EndpointPort `json:"ports"`
	Endpoints   []Endpoint     `json:"endpoints"`
}

// EndpointPort is one port of a slice; the empty name is that of a Service's only port.
type EndpointPort struct {
	Name     string `json:"name"`
	Port     int    `json:"port"`
	Protocol string `json:"protocol,omitempty"`
}

// Endpoint is one endpoint of a slice.
type Endpoint struct {
	Addresses  []string   `json:"addresses"`
	Conditions Conditions `json:"conditions"`
	TargetRef  *TargetRef `json:"targetRef,omitempty"`
	Zone       string     `json:"zone,omitempty"`
}

// Conditions of an endpoint; nil is absent.
type Conditions struct {
	Ready       *bool `json:"ready,omitempty"`
	Serving     *bool `json:"serving,omitempty"`
	Terminating *bool `json:"terminating,omitempty"`
}

// TargetRef names the pod behind an endpoint.
type TargetRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Ingress is a networking.k8s.io/v1 Ingress.
type Ingress struct {
	TypeMeta
	Metadata Meta        `json:"metadata"`
	Spec     IngressSpec `json:"spec"`
}

// IngressSpec holds an Ingress's rules.
type IngressSpec struct {
	IngressClassName string          `json:"ingressClassName,omitempty"`
	DefaultBackend   *IngressBackend `json:"defaultBackend,omitempty"`
	TLS              []IngressTLS    `json:"tls,omitempty"`
	Rules            []IngressRule   `json:"rules,omitempty"`
}

// IngressTLS names the hosts that a Secret's certificate serves.
type IngressTLS struct {
	Hosts      []string `json:"hosts,omitempty"`
	SecretName string   `json:"secretName,omitempty"`
}

// IngressRule holds the paths of one host.
type IngressRule struct {
	Host string      `json:"host,omitempty"`
	HTTP IngressHTTP `json:"http"`
}

// IngressHTTP holds the paths of a rule.
type IngressHTTP struct {
	Paths []IngressPath `json:"paths"`
}

// IngressPath is one path and its backend.
type IngressPath struct {
	Path     string         `json:"path"`
	PathType string         `json:"pathType"`
	Backend  IngressBackend `json:"backend"`
}

// IngressBackend is a port of a service.
type IngressBackend struct {
	Service IngressService `json:"service"`
}

// IngressService names a service and its port.
type IngressService struct {
	Name string      `json:"name"`
	Port IngressPort `json:"port"`
}

// IngressPort is a port's name or number.
type IngressPort struct {
	Name   string `json:"name,omitempty"`
	Number int    `json:"number,omitempty"`
}

// IngressClass is a networking.k8s.io/v1 IngressClass.
type IngressClass struct {
	TypeMeta
	Metadata Meta             `json:"metadata"`
	Spec     IngressClassSpec `json:"spec"`
}

// IngressClassSpec names the controller of a class.
type IngressClassSpec struct {
	Controller string `json:"controller"`
}

// Secret is a v1 Secret.
type Secret struct {
	TypeMeta
	Metadata   Meta              `json:"metadata"`
	Type       string            `json:"type,omitempty"`
	StringData map[string]string `json:"stringData,omitempty"`
}

// Fleet is berth's own kind.
type Fleet struct {
	TypeMeta
	Metadata Meta      `json:"metadata"`
	Spec     FleetSpec `json:"spec"`
}

// FleetSpec is the part of a Fleet that tests set.
type FleetSpec struct {
	Namespaces     *FleetNamespaces `json:"namespaces,omitempty"`
	IngressClasses []string         `json:"ingressClasses,omitempty"`
	Slots          *FleetSlots      `json:"slots,omitempty"`
	Timeouts       *FleetTimeouts   `json:"timeouts,omitempty"`
}

// FleetNamespaces selects what a fleet serves.
type FleetNamespaces struct {
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}

// FleetSlots sizes slot tables.
type FleetSlots struct {
	Minimum      int  `json:"minimum,omitempty"`
	SurgePercent *int `json:"surgePercent,omitempty"`
}

// FleetTimeouts are durations such as 500ms.
type FleetTimeouts struct {
	Connect       string `json:"connect,omitempty"`
	Client        string `json:"client,omitempty"`
	Server        string `json:"server,omitempty"`
	HTTPKeepAlive string `json:"httpKeepAlive,omitempty"`
}

// ID names the Service.
func (o Service) ID() ID { return id("Service", o.Metadata) }

// ID names the EndpointSlice.
func (o EndpointSlice) ID() ID { return id("EndpointSlice", o.Metadata) }

// ID names the Ingress.
func (o Ingress) ID() ID { return id("Ingress", o.Metadata) }

// ID names the IngressClass.
func (o IngressClass) ID() ID { return id("IngressClass", o.Metadata) }

// ID names the Secret.
func (o Secret) ID() ID { return id("Secret", o.Metadata) }

// ID names the Fleet.
func (o Fleet) ID() ID { return id("Fleet", o.Metadata) }

func id(kind string, m Meta) ID { return ID{Kind: kind, Namespace: m.Namespace, Name: m.Name} }
