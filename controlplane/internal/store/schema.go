package store

import (
	"fmt"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"

	memdb "github.com/hashicorp/go-memdb"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// Each kind has a table of *source.Row, named by the kind. The other tables:
const (
	tableProblems = "problems" // *problem
	tableSources  = "sources"  // *Source
)

// The indexes. Each row's id is its cluster, namespace and name.
const (
	indexID      = "id"
	indexService = "service" // of slices and Ingresses: cluster, namespace, name of a service that they belong to or name
	indexSecret  = "secret"  // of Ingresses: cluster, namespace, name of a secret that they name
	indexHost    = "host"    // of Ingresses: a host in lower case, "" for any host
	indexClass   = "class"   // of Ingresses: the class that they name, "" for none
	indexOrigin  = "origin"  // of problems: source, origin
	indexObject  = "object"  // of problems: cluster, kind, namespace, name
)

// problem is one problem of a report, at its position in the report.
type problem struct {
	source, origin string
	position       int
	source.Problem
}

func schema() *memdb.DBSchema {
	tables := map[string]*memdb.TableSchema{
		tableProblems: table(tableProblems, single[*problem](problemID), map[string]memdb.Indexer{
			indexOrigin: multi[*problem](func(p *problem) []string { return []string{key(p.source, p.origin)} }),
			indexObject: multi[*problem](func(p *problem) []string { return []string{objectKey(p.Object)} }),
		}),
		tableSources: table(tableSources, single[*Source](func(s *Source) string { return key(s.Name) }), nil),
	}
	indexes := map[source.Kind]map[string]memdb.Indexer{
		source.KindEndpointSlice: {indexService: multi[*source.Row](sliceService)},
		source.KindIngress: {
			indexService: multi[*source.Row](ingressServices),
			indexSecret:  multi[*source.Row](ingressSecrets),
			indexHost:    multi[*source.Row](ingressHosts),
			indexClass:   multi[*source.Row](ingressClass),
		},
	}
	for _, kind := range source.Kinds() {
		tables[string(kind)] = table(string(kind), single[*source.Row](rowID), indexes[kind])
	}
	return &memdb.DBSchema{Tables: tables}
}

func table(name string, id memdb.Indexer, others map[string]memdb.Indexer) *memdb.TableSchema {
	t := &memdb.TableSchema{Name: name, Indexes: map[string]*memdb.IndexSchema{
		indexID: {Name: indexID, Unique: true, Indexer: id},
	}}
	for index, indexer := range others {
		t.Indexes[index] = &memdb.IndexSchema{Name: index, AllowMissing: true, Indexer: indexer}
	}
	return t
}

// key joins the parts of an index key. Each part is closed by a NUL, which no name can hold, so that no key is the beginning
// of another one with as many parts.
func key(parts ...string) string { return strings.Join(parts, "\x00") + "\x00" }

func objectKey(k source.Key) string { return key(k.Cluster, string(k.Kind), k.Namespace, k.Name) }

func problemID(p *problem) string {
	return key(p.source, p.origin, fmt.Sprintf("%08d", p.position))
}

func rowID(r *source.Row) string { return key(r.Cluster, r.Namespace, r.Name) }

// single and multi are memdb's indexers over functions. Arguments are the parts of the key; as a prefix, the first few of them.
type single[T any] func(T) string

func (f single[T]) FromObject(raw any) (bool, []byte, error) { return true, []byte(f(raw.(T))), nil }
func (f single[T]) FromArgs(args ...any) ([]byte, error)     { return argsKey(args) }
func (f single[T]) PrefixFromArgs(args ...any) ([]byte, error) {
	return argsKey(args)
}

type multi[T any] func(T) []string

func (f multi[T]) FromObject(raw any) (bool, [][]byte, error) {
	keys := f(raw.(T))
	values := make([][]byte, len(keys))
	for i, k := range keys {
		values[i] = []byte(k)
	}
	return len(values) > 0, values, nil
}
func (f multi[T]) FromArgs(args ...any) ([]byte, error) { return argsKey(args) }

func argsKey(args []any) ([]byte, error) {
	if len(args) == 0 {
		return nil, nil
	}
	parts := make([]string, len(args))
	for i, arg := range args {
		parts[i] = arg.(string)
	}
	return []byte(key(parts...)), nil
}

// sliceService indexes a slice by the service that its label names; a slice without the label belongs to none.
func sliceService(r *source.Row) []string {
	if name := r.Object.GetLabels()[discoveryv1.LabelServiceName]; name != "" {
		return []string{key(r.Cluster, r.Namespace, name)}
	}
	return nil
}

func ingressServices(r *source.Row) []string {
	spec := &r.Object.(*networkingv1.Ingress).Spec
	var keys []string
	add := func(b *networkingv1.IngressBackend) {
		if b != nil && b.Service != nil {
			keys = append(keys, key(r.Cluster, r.Namespace, b.Service.Name))
		}
	}
	add(spec.DefaultBackend)
	for i := range spec.Rules {
		if http := spec.Rules[i].HTTP; http != nil {
			for j := range http.Paths {
				add(&http.Paths[j].Backend)
			}
		}
	}
	return unique(keys)
}

func ingressSecrets(r *source.Row) []string {
	var keys []string
	for _, tls := range r.Object.(*networkingv1.Ingress).Spec.TLS {
		if tls.SecretName != "" {
			keys = append(keys, key(r.Cluster, r.Namespace, tls.SecretName))
		}
	}
	return unique(keys)
}

// ingressHosts indexes an Ingress by every host that it says something about: in its rules or under tls. A default backend
// without rules is about any host.
func ingressHosts(r *source.Row) []string {
	spec := &r.Object.(*networkingv1.Ingress).Spec
	var keys []string
	for _, rule := range spec.Rules {
		keys = append(keys, key(foldHost(rule.Host)))
	}
	for _, tls := range spec.TLS {
		for _, host := range tls.Hosts {
			keys = append(keys, key(foldHost(host)))
		}
	}
	if spec.DefaultBackend != nil && len(spec.Rules) == 0 {
		keys = append(keys, key(""))
	}
	return unique(keys)
}

func foldHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// classAnnotation named the class before the field did, and still counts where the field is left out.
const classAnnotation = "kubernetes.io/ingress.class"

func ingressClass(r *source.Row) []string {
	if name := r.Object.(*networkingv1.Ingress).Spec.IngressClassName; name != nil {
		return []string{key(*name)}
	}
	return []string{key(r.Object.GetAnnotations()[classAnnotation])}
}

func unique(keys []string) []string {
	slices.Sort(keys)
	return slices.Compact(keys)
}
