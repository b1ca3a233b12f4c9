package store

import (
	"iter"

	memdb "github.com/hashicorp/go-memdb"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// Read is the state of all tables at one moment. It never changes, may be kept and used from any goroutine, and what it gives
// out is never mutated (STORE-1). Sequences come in the order of cluster, namespace and name.
type Read struct {
	txn *memdb.Txn
}

// Source is a source with its newest state.
type Source struct {
	Name string
	source.State

	// Rows counts the rows of each kind. It is never mutated.
	Rows map[source.Kind]int
}

// Empty says that the source has no rows at all.
func (s Source) Empty() bool {
	for _, n := range s.Rows {
		if n > 0 {
			return false
		}
	}
	return true
}

// Service gives a service, nil when there is none.
func (r Read) Service(cluster, namespace, name string) *corev1.Service {
	return object[*corev1.Service](r, source.KindService, cluster, namespace, name)
}

// SlicesOfService gives the EndpointSlices whose label names the service.
func (r Read) SlicesOfService(cluster, namespace, name string) iter.Seq2[source.Key, *discoveryv1.EndpointSlice] {
	return objects[*discoveryv1.EndpointSlice](r, source.KindEndpointSlice, indexService, cluster, namespace, name)
}

// Secret gives a Secret, nil when there is none.
func (r Read) Secret(cluster, namespace, name string) *corev1.Secret {
	return object[*corev1.Secret](r, source.KindSecret, cluster, namespace, name)
}

// Object gives an object by its key, nil when there is none.
func (r Read) Object(k source.Key) source.Object {
	if row := first[*source.Row](r.txn, string(k.Kind), indexID, k.Cluster, k.Namespace, k.Name); row != nil {
		return row.Object
	}
	return nil
}

// RowsOf gives every row of a source, by kind.
func (r Read) RowsOf(name string) iter.Seq[source.Row] {
	return func(yield func(source.Row) bool) {
		for _, kind := range source.Kinds() {
			for row := range each[*source.Row](r.txn, string(kind), indexID+"_prefix", name) {
				if !yield(*row) {
					return
				}
			}
		}
	}
}

// Problems gives everything that sources report, by source and origin, in the order of each report.
func (r Read) Problems() iter.Seq[source.Problem] { return r.problems(indexID) }

// ProblemsOf gives what sources report about one object, whether it has a row or not.
func (r Read) ProblemsOf(k source.Key) iter.Seq[source.Problem] {
	return r.problems(indexObject, k.Cluster, string(k.Kind), k.Namespace, k.Name)
}

// Source gives a source; ok is false when nobody has heard of it.
func (r Read) Source(name string) (s Source, ok bool) {
	if found := first[*Source](r.txn, tableSources, indexID, name); found != nil {
		return *found, true
	}
	return Source{}, false
}

// Sources gives all sources, by name, those included that have not said anything yet.
func (r Read) Sources() iter.Seq[Source] {
	return func(yield func(Source) bool) {
		for s := range each[*Source](r.txn, tableSources, indexID) {
			if !yield(*s) {
				return
			}
		}
	}
}

func (r Read) problems(index string, args ...string) iter.Seq[source.Problem] {
	return func(yield func(source.Problem) bool) {
		for p := range each[*problem](r.txn, tableProblems, index, args...) {
			if !yield(p.Problem) {
				return
			}
		}
	}
}

func object[T source.Object](r Read, kind source.Kind, cluster, namespace, name string) T {
	if row := first[*source.Row](r.txn, string(kind), indexID, cluster, namespace, name); row != nil {
		return row.Object.(T)
	}
	var none T
	return none
}

func objects[T source.Object](r Read, kind source.Kind, index string, args ...string) iter.Seq2[source.Key, T] {
	return func(yield func(source.Key, T) bool) {
		for row := range each[*source.Row](r.txn, string(kind), index, args...) {
			if !yield(row.Key, row.Object.(T)) {
				return
			}
		}
	}
}

// each walks an index; without arguments, all of it.
func each[T any](txn *memdb.Txn, table, index string, args ...string) iter.Seq[T] {
	return func(yield func(T) bool) {
		rows, err := txn.Get(table, index, anys(args)...)
		must(err)
		for raw := rows.Next(); raw != nil; raw = rows.Next() {
			if !yield(raw.(T)) {
				return
			}
		}
	}
}

func first[T any](txn *memdb.Txn, table, index string, args ...string) T {
	raw, err := txn.First(table, index, anys(args)...)
	must(err)
	found, _ := raw.(T)
	return found
}

func anys(args []string) []any {
	list := make([]any, len(args))
	for i, arg := range args {
		list[i] = arg
	}
	return list
}
