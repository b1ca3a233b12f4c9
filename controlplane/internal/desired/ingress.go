package desired

import (
	"fmt"
	"net/url"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
)

// Ingress is what one Ingress asks for, judged by itself alone: no service, secret, class or other Ingress is looked at yet.
type Ingress struct {
	Ref Ref
	Age Age
	// Class is the name of its class; HasClass is false where it names none.
	Class    string
	HasClass bool
	Rules    []Rule
	Default  *Target
	TLS      []TLS
	// Refused: the source could not read it and knows its hosts and its class only. They are claimed and closed (P10). AnyClass: not even its class.
	Refused, AnyClass bool
	Annotations
}

// Rule is a host with its paths. Each host has one rule, each match and path of it one entry.
type Rule struct {
	Host  string
	Paths []Path
}

// Path leads a match to a target.
type Path struct {
	Match  Match
	Path   string
	Target Target
}

// Target is a port of a service of the same namespace, by name or by number.
type Target struct {
	Service string
	Port    string
	Number  int32
	// Fault says why it cannot be served at all, whatever services there are.
	Fault string
}

// TLS says which secret holds the certificate of which hosts.
type TLS struct {
	// Hosts are those that the entry names.
	Hosts []string
	// All: the entry names no hosts, which means all hosts of the Ingress's rules.
	All bool
	// Secret is empty where the entry names none.
	Secret string
}

const classAnnotation = "kubernetes.io/ingress.class"

// ParseIngress reads an Ingress. accepted is what the parse before it returned, nil for a new one.
func ParseIngress(obj *networkingv1.Ingress, ref Ref, source int, accepted map[string]string) *Ingress {
	ing := &Ingress{
		Ref:         ref,
		Age:         Age{Created: obj.CreationTimestamp.Time, Ref: ref, Source: source},
		Annotations: ParseAnnotations(obj.Annotations, accepted),
	}
	if name := obj.Spec.IngressClassName; name != nil && *name != "" {
		ing.Class, ing.HasClass = *name, true
	} else if name := obj.Annotations[classAnnotation]; name != "" {
		ing.Class, ing.HasClass = name, true
	}
	if obj.Spec.DefaultBackend != nil {
		target := parseTarget(obj.Spec.DefaultBackend)
		ing.Default = &target
	}
	for i := range obj.Spec.Rules {
		ing.addRule(&obj.Spec.Rules[i])
	}
	for i := range obj.Spec.TLS {
		ing.addTLS(&obj.Spec.TLS[i])
	}
	return ing
}

// RefusedIngress stands for an Ingress that its source refused and that never was good. Its age is not known. An empty class is none.
func RefusedIngress(ref Ref, source int, hosts []string, class string, anyClass bool) *Ingress {
	ing := &Ingress{Ref: ref, Age: Age{Ref: ref, Source: source}, Class: class, HasClass: class != "", Refused: true, AnyClass: anyClass}
	for _, raw := range hosts {
		if host, err := Host(raw); err == nil && !slices.ContainsFunc(ing.Rules, func(r Rule) bool { return r.Host == host }) {
			ing.Rules = append(ing.Rules, Rule{Host: host})
		}
	}
	return ing
}

func (ing *Ingress) note(format string, args ...any) {
	ing.Notes = append(ing.Notes, warn(fmt.Sprintf(format, args...)))
}

func (ing *Ingress) addRule(obj *networkingv1.IngressRule) {
	host, err := Host(obj.Host)
	if err != nil {
		ing.note("%s; its rule is left out", err)
		return
	}
	at := slices.IndexFunc(ing.Rules, func(r Rule) bool { return r.Host == host })
	if at < 0 {
		at = len(ing.Rules)
		ing.Rules = append(ing.Rules, Rule{Host: host})
	}
	if obj.HTTP == nil {
		return // the host is claimed, and all its paths go to the default backend
	}
	seen := make(map[Path]bool, len(obj.HTTP.Paths))
	for _, p := range ing.Rules[at].Paths {
		seen[Path{Match: p.Match, Path: p.Path}] = true
	}
	for i := range obj.HTTP.Paths {
		p, err := parsePath(&obj.HTTP.Paths[i])
		if err != nil {
			ing.note("path %q of host %q %s; it is left out", clip(obj.HTTP.Paths[i].Path), host, err)
			continue
		}
		key := Path{Match: p.Match, Path: p.Path}
		if seen[key] {
			ing.note("%s path %q of host %q stands here twice; the first one counts", p.Match, clip(p.Path), host)
			continue
		}
		seen[key] = true
		if c := notInRequests(p.Path); c != "" {
			ing.note("path %q of host %q holds %q, which is in the path of no request; write it as %s", clip(p.Path), host, c, url.PathEscape(c))
		}
		ing.Rules[at].Paths = append(ing.Rules[at].Paths, p)
	}
}

func parsePath(obj *networkingv1.HTTPIngressPath) (Path, error) {
	match := Prefix
	if obj.PathType != nil {
		switch *obj.PathType {
		case networkingv1.PathTypeExact:
			match = Exact
		case networkingv1.PathTypePrefix, networkingv1.PathTypeImplementationSpecific:
		default:
			return Path{}, fmt.Errorf("has the unknown pathType %q; use Exact or Prefix", clip(string(*obj.PathType)))
		}
	}
	path, err := CleanPath(match, obj.Path)
	return Path{Match: match, Path: path, Target: parseTarget(&obj.Backend)}, err
}

func parseTarget(obj *networkingv1.IngressBackend) Target {
	if obj.Service == nil {
		return Target{Fault: "names a resource as its backend, which is not supported; name a service"}
	}
	return Target{Service: obj.Service.Name, Port: obj.Service.Port.Name, Number: obj.Service.Port.Number}
}

func (ing *Ingress) addTLS(obj *networkingv1.IngressTLS) {
	entry := TLS{Secret: obj.SecretName, All: len(obj.Hosts) == 0}
	for _, raw := range obj.Hosts {
		host, err := Host(raw)
		switch {
		case err != nil:
			ing.note("tls: %s; it is left out", err)
		case host == "":
			ing.note("tls: an empty host is left out; leave hosts away for all hosts of the rules")
		case !slices.Contains(entry.Hosts, host):
			entry.Hosts = append(entry.Hosts, host)
		}
	}
	ing.TLS = append(ing.TLS, entry)
}

// Names are the hosts that an entry is about.
func (ing *Ingress) Names(entry TLS) []string {
	if !entry.All {
		return entry.Hosts
	}
	var hosts []string
	for _, r := range ing.Rules {
		if r.Host != "" {
			hosts = append(hosts, r.Host)
		}
	}
	return hosts
}
