// Package store holds the newest rows of all sources, and tells one consumer which of them changed.
//
// The package owns the tables (rows by kind, problems, sources) and the changes that the consumer has not taken yet. It never
// judges an object, reads no file and no cluster, and starts no goroutine. It has indexes for the questions that the compiler asks it; who lays claim
// to a host or depends on a service or a secret, the compiler remembers itself, by what the objects were resolved to in each fleet.
//
// OBJECTS ARE NEVER MUTATED. What a Read gives out is what the source delivered, shared by all readers. Whoever wants another
// form makes a copy.
//
// Invariants:
//
//	STORE-1  OBJECTS ARE NEVER MUTATED, neither by the store nor by who reads it (source.SRC-1).
//	STORE-2  A batch is one transaction: a Read sees all of it or nothing, and a Read never changes under its reader.
//	STORE-3  Next gives everything that changed since it last returned, merged: each object once, with its form at that time,
//	         its newest form, and the earliest time that a source saw one of its changes. What came back to what it was is
//	         left out. Nothing is queued: however late the consumer comes, the work is that of one merged change.
//	STORE-4  The Read that Next returns is exactly the state that its Changes lead to.
//	STORE-5  A full list of a source removes the rows and problems of that source that are not in it, and no other's; a batch
//	         without Full removes only what it names (source.SRC-3).
//	STORE-6  The cost of a batch follows the batch, not the number of rows.
package store
