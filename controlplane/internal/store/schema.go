package store

import (
	"fmt"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

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
	indexService = "service" // of slices: cluster, namespace, name of the service that they belong to
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
