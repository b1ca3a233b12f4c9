package store

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// delivered remembers objects beside a copy of what they were.
type delivered struct{ object, copy source.Object }

// STORE-1 to STORE-5 over any history: a consumer that comes whenever it likes, and knows only the changes that it was given,
// has the same rows as a model that applied every batch; each change starts from what the consumer had; and no object that was
// ever delivered is altered.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New("a", "b")
		model, consumer := map[source.Key]source.Object{}, map[source.Key]source.Object{}
		var all []delivered
		made := func(name string) source.Object {
			o := slice(name, rapid.SampledFrom([]string{"", "web", "pay"}).Draw(t, "service"))
			all = append(all, delivered{o, o.DeepCopy()})
			return o
		}
		names := rapid.SampledFrom([]string{"1", "2", "3", "4"})
		t.Repeat(map[string]func(*rapid.T){
			"change": func(t *rapid.T) {
				b := source.Batch{Source: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "source")}
				for _, name := range rapid.SliceOfNDistinct(names, 0, 4, rapid.ID).Draw(t, "objects") {
					row := source.NewRow(b.Source, made(name))
					if rapid.Bool().Draw(t, "put") {
						b.Put = append(b.Put, row)
						model[row.Key] = row.Object
					} else {
						b.Gone = append(b.Gone, row.Key)
						delete(model, row.Key)
					}
				}
				s.Apply(b)
			},
			"list": func(t *rapid.T) {
				b := source.Batch{Source: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "source"), Full: true}
				for k := range model {
					if k.Cluster == b.Source {
						delete(model, k)
					}
				}
				for _, name := range rapid.SliceOfNDistinct(names, 0, 4, rapid.ID).Draw(t, "objects") {
					row := source.NewRow(b.Source, made(name))
					b.Put = append(b.Put, row)
					model[row.Key] = row.Object
				}
				s.Apply(b)
			},
			"next": func(t *rapid.T) {
				changes, read, _ := s.take()
				for _, c := range changes.Objects {
					if c.Before != consumer[c.Key] {
						t.Fatalf("%v starts from %v, but the consumer had %v", c.Key, c.Before, consumer[c.Key])
					}
					if c.After == nil {
						delete(consumer, c.Key)
					} else {
						consumer[c.Key] = c.After
					}
				}
				if changes.Empty() { // then take gives no state either
					read = s.Read()
				}
				if got := contents(read); !reflect.DeepEqual(got, consumer) {
					t.Fatalf("STORE-4: the state has %v, the changes lead to %v", got, consumer)
				}
			},
			"": func(t *rapid.T) {
				if got := contents(s.Read()); !reflect.DeepEqual(got, model) {
					t.Fatalf("the store has %v, want %v", got, model)
				}
				for _, d := range all {
					if !reflect.DeepEqual(d.object, d.copy) {
						t.Fatalf("STORE-1: an object was mutated: %v was %v", d.object, d.copy)
					}
				}
			},
		})
	})
}

func contents(r Read) map[source.Key]source.Object {
	rows := map[source.Key]source.Object{}
	for k, o := range objects[*discoveryv1.EndpointSlice](r, source.KindEndpointSlice, indexID) {
		rows[k] = o
	}
	return rows
}

// STORE-2, SRC-2 under the race detector: while sources deliver pairs of rows that belong together, no reader sees half of a pair.
func TestReadersSeeWholeBatches(t *testing.T) {
	s := New("a", "b")
	var sources, readers sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		sources.Go(func() {
			for i := range 300 {
				label := string(rune('a' + i%20))
				s.Deliver(put(name, i, slice("left", label), slice("right", label)))
			}
		})
	}
	done := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				for _, name := range []string{"a", "b"} {
					r := s.Read()
					left := object[*discoveryv1.EndpointSlice](r, source.KindEndpointSlice, name, "shop", "left")
					right := object[*discoveryv1.EndpointSlice](r, source.KindEndpointSlice, name, "shop", "right")
					if (left == nil) != (right == nil) || left != nil && !reflect.DeepEqual(left.Labels, right.Labels) {
						t.Errorf("half a batch: %v beside %v", left, right)
						return
					}
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	sources.Wait()
	close(done)
	readers.Wait()
	changes, _ := next(t, s)
	if len(changes.Objects) != 4 || !slices.IsSortedFunc(changes.Objects, func(x, y Change) int { return compareKeys(x.Key, y.Key) }) {
		t.Errorf("600 batches of four objects merge to %d changes", len(changes.Objects))
	}
}
