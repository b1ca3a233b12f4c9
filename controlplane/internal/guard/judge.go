package guard

import (
	"iter"
	"maps"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// MinBackends is how many backends a loss touches at least for it to be held back.
const MinBackends = 10

// world is what there was before a step.
type world interface {
	Object(source.Key) source.Object
	SlicesOfService(cluster, namespace, name string) iter.Seq2[source.Key, *discoveryv1.EndpointSlice]
}

// step is what a batch does to the objects of its source.
type step struct {
	before world
	gone   []source.Key
	// absent are those that are gone with this step or are held since an earlier one; before has them still.
	absent map[source.Key]struct{}
	// sliced are the services of which the step puts a slice, and routed those that an Ingress names that it puts, as far as these were otherwise before.
	sliced, routed map[source.Key]struct{}
}

// newStep looks at what the step puts only if something is gone.
func newStep(before world, put []source.Row, gone []source.Key, held map[source.Key]struct{}) step {
	s := step{before: before, gone: gone, absent: maps.Clone(held), sliced: map[source.Key]struct{}{}, routed: map[source.Key]struct{}{}}
	if len(gone) == 0 {
		return s
	}
	if s.absent == nil {
		s.absent = map[source.Key]struct{}{}
	}
	for _, k := range gone {
		s.absent[k] = struct{}{}
	}
	for _, row := range put {
		switch object := row.Object.(type) {
		case *discoveryv1.EndpointSlice:
			if s.changes(row) {
				s.sliced[serviceKey(row.Key, object.Labels[discoveryv1.LabelServiceName])] = struct{}{}
			}
		case *networkingv1.Ingress:
			if s.changes(row) {
				maps.Copy(s.routed, servicesOf(row.Key, object))
			}
		}
	}
	return s
}

// changes says whether a row that is put differs from what was there: a list puts everything.
func (s step) changes(row source.Row) bool {
	old := s.before.Object(row.Key)
	return old == nil || !equality.Semantic.DeepEqual(old, row.Object)
}

// loss gives those of the step's gone objects that vanished whole, with nothing in their place, and without those that were not there.
func (s step) loss() []source.Key {
	var list []source.Key
	for _, k := range s.gone {
		switch object := s.before.Object(k).(type) {
		case nil:
		case *discoveryv1.EndpointSlice:
			if s.losesService(k, object) {
				list = append(list, k)
			}
		case *networkingv1.Ingress:
			if !s.replaced(k, object) {
				list = append(list, k)
			}
		default:
			list = append(list, k)
		}
	}
	return list
}

// losesService says whether a slice that is gone leaves its service without any.
func (s step) losesService(k source.Key, gone *discoveryv1.EndpointSlice) bool {
	service := serviceKey(k, gone.Labels[discoveryv1.LabelServiceName])
	if _, put := s.sliced[service]; put || service.Name == "" {
		return false
	}
	for other, slice := range s.before.SlicesOfService(service.Cluster, service.Namespace, service.Name) {
		if _, absent := s.absent[other]; !absent && len(slice.Endpoints) > 0 {
			return false
		}
	}
	return true
}

// replaced says whether the step puts Ingresses that name all that one names that is gone: it was split, merged or renamed.
func (s step) replaced(k source.Key, gone *networkingv1.Ingress) bool {
	named := servicesOf(k, gone)
	for service := range named {
		if _, routed := s.routed[service]; !routed {
			return false
		}
	}
	return len(named) > 0
}

// serviceKey is the key of a service beside an object.
func serviceKey(of source.Key, name string) source.Key {
	return source.Key{Cluster: of.Cluster, Kind: source.KindService, Namespace: of.Namespace, Name: name}
}

// servicesOf are the services that an Ingress names.
func servicesOf(k source.Key, ing *networkingv1.Ingress) map[source.Key]struct{} {
	named := map[source.Key]struct{}{}
	name := func(b *networkingv1.IngressBackend) {
		if b != nil && b.Service != nil {
			named[serviceKey(k, b.Service.Name)] = struct{}{}
		}
	}
	name(ing.Spec.DefaultBackend)
	for i := range ing.Spec.Rules {
		if http := ing.Spec.Rules[i].HTTP; http != nil {
			for j := range http.Paths {
				name(&http.Paths[j].Backend)
			}
		}
	}
	return named
}

// dependedOn gives the objects to ask the compiler about: for a slice, its service.
func dependedOn(before world, keys []source.Key) []source.Key {
	list := make([]source.Key, len(keys))
	for i, k := range keys {
		list[i] = k
		if slice, ok := before.Object(k).(*discoveryv1.EndpointSlice); ok {
			list[i] = serviceKey(k, slice.Labels[discoveryv1.LabelServiceName])
		}
	}
	return list
}

// tooFar says whether a loss goes so far in one of the fleets that it is held back (GUARD-1).
func tooFar(reach []compile.Reach) bool {
	return slices.ContainsFunc(reach, func(r compile.Reach) bool {
		return len(r.Touched) >= MinBackends && 2*len(r.Touched) >= r.Backends
	})
}

// backends counts all that a loss touches.
func backends(reach []compile.Reach) (n int) {
	for _, r := range reach {
		n += len(r.Touched)
	}
	return n
}
