// Package guard stands between the sources and the store, and protects the plane from its own sources: when so many whole objects vanish in one step
// that it looks like an accident (a folder deleted, a checkout of the wrong branch, a relist that came back nearly empty), their removal is held back for a
// moment, is shown, and is then applied all the same, unless more vanishes. An operator can have it applied at once.
//
// The package owns what is held back, by source, and the one timer that ends it. Held objects are not kept here: they simply stay in the store. It
// judges objects by what depends on them only, reads nothing from any disk, and writes nothing: a plane that starts anew holds nothing back, and its
// first list is without what is gone.
//
// A step is one batch of a source. Its loss is the objects that vanished whole:
//
//   - an EndpointSlice, when the step puts no slice of the same service, and no other slice of it with an endpoint is left;
//   - an Ingress, when the step puts no Ingresses that name all of the same services;
//   - a Service, a Secret, an IngressClass, a BackendPolicy or a Fleet.
//
// A slice that changed or was emptied is no loss, nor is an endpoint that was replaced, nor anything in a source's first list.
//
// Which backends depend on an object, the compiler is asked. It may be a moment behind the store: what was put and is gone again before it was compiled was
// never on any node.
//
// Invariants, each of which has a test of that name:
//
//	GUARD-1  A loss that touches at least MinBackends backends and at least half of those of one fleet is held back as a whole. A smaller one is
//	         applied at once.
//	GUARD-2  All else flows at once: what a step puts, what it takes away that is no loss, its reports and its state.
//	GUARD-3  What is held is removed Hold after the last growth, and Bound after its beginning at the latest, so that no removal is held for ever. A growth is a
//	         later loss of the same source that touches any backend; it is held with the rest.
//	GUARD-4  What comes back is no longer held, and was never gone for anybody behind the guard.
//	GUARD-5  An operator's word is applied at once: a release, and a batch ByHand.
//	GUARD-6  What is held back of one source holds up no other one, and batches of a source keep their order.
package guard
