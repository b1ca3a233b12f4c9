// Package snapshot is the pure model of what a HAProxy is wanted to be. The plane computes it, the wire carries it, the agent
// applies it and berthctl compares it; none of them has a model of its own beside it. It is shaped like HAProxy and knows no
// Kubernetes, no clock, no I/O and no goroutine.
//
// A fleet's wanted state has two halves with a clock each:
//
//   - a Revision, the slow one: sections, backends, maps, certificates;
//   - a Generation, the fast one: the slot table of each backend, its length included.
//
// Both are immutable values. Apply returns a new one that shares all that did not change with the old one, so a reader may keep
// any of them for as long as it likes, from any goroutine, while the writer goes on.
//
// Invariants, each of which has a property test of that name:
//
//	SNAP-1  apply(a, diff(a, b)) = b, and diff(a, a) is empty.
//	SNAP-2  apply(apply(a, d), e) = apply(a, merge(d, e)), and merge is associative.
//	SNAP-3  the digest kept by Apply equals the digest of the same content computed from scratch, whatever the order of the
//	        changes; equal digests mean equal content.
//	SNAP-4  an older value is never altered by Apply.
//	SNAP-5  the bucket digests add up to the digest, and replacing the buckets that differ gives the other value.
//
// A version says which of two values is newer; a digest says whether they are the same. Versions are in no digest.
package snapshot
