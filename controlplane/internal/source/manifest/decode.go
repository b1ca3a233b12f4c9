package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"

	"github.com/berth-proxy/berth/api/v1alpha1"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/source/admission"
)

// read lists the kinds that are read, each in the one version that its objects come in.
var read = map[schema.GroupVersionKind]source.Kind{
	corev1.SchemeGroupVersion.WithKind("Service"):            source.KindService,
	corev1.SchemeGroupVersion.WithKind("Secret"):             source.KindSecret,
	discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"): source.KindEndpointSlice,
	networkingv1.SchemeGroupVersion.WithKind("Ingress"):      source.KindIngress,
	networkingv1.SchemeGroupVersion.WithKind("IngressClass"): source.KindIngressClass,
	v1alpha1.GroupVersion.WithKind("Fleet"):                  source.KindFleet,
	v1alpha1.GroupVersion.WithKind("BackendPolicy"):          source.KindBackendPolicy,
}

var scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgo.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			panic("BUG: the scheme: " + err.Error())
		}
	}
	return s
}

// head is what a document says about itself, before its kind is known.
type head struct {
	fields           map[string]json.RawMessage
	apiVersion, kind string
	namespace, name  string
}

// readHead reads as much as it can. A name that cannot be read is left empty: the decoder says what is wrong with it.
func readHead(tree json.RawMessage) (head, error) {
	var h head
	if err := json.Unmarshal(tree, &h.fields); err != nil {
		return h, errors.New("the document is not an object with apiVersion and kind")
	}
	h.apiVersion, h.kind = text(h.fields["apiVersion"]), text(h.fields["kind"])
	var metadata map[string]json.RawMessage
	if json.Unmarshal(h.fields["metadata"], &metadata) == nil {
		h.namespace, h.name = text(metadata["namespace"]), text(metadata["name"])
	}
	return h, nil
}

func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// isList tells a List, or a list of one kind such as a ServiceList, from an object.
func (h head) isList() bool {
	_, items := h.fields["items"]
	return items && strings.HasSuffix(h.kind, "List") || h.kind == "List" && h.apiVersion == "v1"
}

func (h head) items() ([]json.RawMessage, error) {
	var items []json.RawMessage
	if raw, ok := h.fields["items"]; ok {
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, fmt.Errorf("items of the %s: must be a list", h.kind)
		}
	}
	return items, nil
}

// inherit takes the kind of an item that does not say it from a list of one kind.
func (h *head) inherit(list head) {
	if h.kind == "" && h.apiVersion == "" && list.kind != "List" {
		h.apiVersion, h.kind = list.apiVersion, strings.TrimSuffix(list.kind, "List")
	}
}

// fill decodes a document into what it says.
func fill(d *Document, h head, tree json.RawMessage) {
	if h.apiVersion == "" || h.kind == "" {
		d.Rejected = "the document does not say its apiVersion and kind"
		return
	}
	gvk := schema.FromAPIVersionAndKind(h.apiVersion, h.kind)
	kind, ok := read[gvk]
	if !ok {
		d.Key.Kind, d.Key.Namespace, d.Key.Name = source.Kind(clip(h.kind)), clip(h.namespace), clip(h.name)
		d.Skipped = clip(h.apiVersion + " " + h.kind)
		return
	}
	d.Key = source.Key{Kind: kind, Namespace: h.namespace, Name: h.name}
	switch {
	case !kind.Namespaced():
		d.Key.Namespace = ""
	case h.namespace == "":
		d.Key.Namespace = admission.DefaultNamespace
	}
	object, warnings, err := decode(gvk, tree)
	if err == nil {
		source.Trim(object)
		var more []string
		more, err = admit(object)
		warnings = append(warnings, more...)
	}
	d.Warnings = capped(append(d.Warnings, warnings...))
	if err != nil {
		d.Rejected = clip(err.Error())
		if kind == source.KindIngress {
			d.Hosts = claimedHosts(tree)
			d.Class, d.AnyClass = claimedClass(tree)
		}
		return
	}
	d.Object = object
}

// decode is strict about types, and warns about fields that it does not know.
func decode(gvk schema.GroupVersionKind, tree json.RawMessage) (source.Object, []string, error) {
	object, unknown, err := decodeStrict(gvk, tree)
	if err != nil && gvk.Kind == string(source.KindEndpointSlice) {
		sound, left := soundEntries(tree)
		if object, unknown, err := decodeStrict(gvk, sound); err == nil {
			return object, append(left, unknown...), nil
		}
	}
	return object, unknown, err
}

func decodeStrict(gvk schema.GroupVersionKind, tree json.RawMessage) (source.Object, []string, error) {
	made, err := scheme.New(gvk)
	if err != nil {
		panic("BUG: a kind that is read is not in the scheme: " + err.Error())
	}
	strict, err := kjson.UnmarshalStrict(tree, made)
	if err != nil {
		return nil, nil, err
	}
	var warnings []string
	for _, w := range strict {
		warnings = append(warnings, w.Error())
	}
	return made.(source.Object), warnings, nil
}

// soundEntries takes from a slice that does not decode the endpoints and ports that do not, so that one of them does not take
// the others with it.
func soundEntries(tree json.RawMessage) (sound json.RawMessage, left []string) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(tree, &fields); err != nil {
		return tree, nil
	}
	for name, entry := range map[string]func() any{
		"endpoints": func() any { return new(discoveryv1.Endpoint) },
		"ports":     func() any { return new(discoveryv1.EndpointPort) },
	} {
		var entries []json.RawMessage
		if json.Unmarshal(fields[name], &entries) != nil {
			continue
		}
		kept := make([]json.RawMessage, 0, len(entries))
		for i, e := range entries {
			if err := kjson.UnmarshalCaseSensitivePreserveInts(e, entry()); err != nil {
				left = append(left, fmt.Sprintf("%s %d is left out: %v", strings.TrimSuffix(name, "s"), i, err))
				continue
			}
			kept = append(kept, e)
		}
		fields[name], _ = json.Marshal(kept) // raw messages that were decoded above
	}
	slices.Sort(left)
	sound, err := json.Marshal(fields)
	if err != nil {
		return tree, nil
	}
	return sound, left
}

func admit(object source.Object) ([]string, error) {
	warnings, errs := admission.Admit(object)
	return warnings, join(errs)
}

// join is one line for people.
func join(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	var lines []string
	for _, err := range errs {
		lines = append(lines, err.Error())
	}
	return errors.New(strings.Join(capped(lines), "; "))
}

// claimedHosts finds the hosts of an Ingress that is rejected: they stay claimed, so that no other site answers for them.
func claimedHosts(tree json.RawMessage) []string {
	var ingress struct {
		Spec struct {
			Rules []struct{ Host string }
			TLS   []struct{ Hosts []string }
		}
	}
	// What does not decode leaves zero values, and the rest is filled in.
	_ = json.Unmarshal(tree, &ingress)
	var hosts []string
	add := func(host string) {
		if host = strings.ToLower(host); admission.ValidHost(host) {
			hosts = append(hosts, host)
		}
	}
	for _, rule := range ingress.Spec.Rules {
		add(rule.Host)
	}
	for _, tls := range ingress.Spec.TLS {
		for _, host := range tls.Hosts {
			add(host)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// claimedClass finds the class of an Ingress that is rejected: the hosts of somebody else's Ingress are not ours to close.
func claimedClass(tree json.RawMessage) (class string, unknown bool) {
	var ingress struct{ Metadata, Spec map[string]json.RawMessage }
	var annotations map[string]json.RawMessage
	// What does not decode leaves nothing, and the rest is filled in.
	_ = json.Unmarshal(tree, &ingress)
	_ = json.Unmarshal(ingress.Metadata["annotations"], &annotations)
	for _, raw := range []json.RawMessage{ingress.Spec["ingressClassName"], annotations["kubernetes.io/ingress.class"]} {
		var name *string
		if raw != nil && json.Unmarshal(raw, &name) != nil {
			return "", true
		}
		if name != nil && *name != "" {
			return clip(*name), false
		}
	}
	return "", false
}

// What people are told is bounded, whatever stands in a file.
const (
	maxText     = 1000
	maxWarnings = 20
)

func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + " …"
}

func capped(lines []string) []string {
	more := len(lines) - maxWarnings
	if more > 0 {
		lines = append(slices.Clone(lines[:maxWarnings]), fmt.Sprintf("and %d more", more))
	}
	for i := range lines {
		lines[i] = clip(lines[i])
	}
	return lines
}
