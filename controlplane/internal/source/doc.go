// Package source defines what a source of wanted state is: something that reads Kubernetes objects, from a directory or from
// a cluster, and delivers them as rows to one sink.
//
// The package owns the words between sources and the store (Row, Batch, Report, State) and the trimming of objects that all
// sources share. It reads nothing itself and keeps no state; the sources are in packages of their own.
//
// A source lives in Run. What it delivers, in order:
//
//   - as long as it could not list at all, batches that carry only a State (not listed, failing since when, with what error);
//   - its first full list: one batch with Full set, that replaces whatever the sink held of this source;
//   - changes: a batch for each atomic change, with the rows put and gone, and the reports that changed with them;
//   - a State whenever it changed, alone or in the batch of the change that came with it.
//
// Invariants:
//
//	SRC-1  OBJECTS ARE NEVER MUTATED. What stands in a delivered Row belongs to all readers at once: a source that has news
//	       delivers a new object, a reader that wants another form makes a copy.
//	SRC-2  A batch is taken whole or not at all: no reader sees half of one.
//	SRC-3  Silence is never deletion. A source that cannot read keeps what it has delivered and says since when it is failing;
//	       a row goes only when the source has seen that its object is gone, or when an operator says that it is (Forgetter).
//	SRC-4  A row is put only when its content changed; a report is sent only when what it says changed.
//	SRC-5  Every row and report of a source carries the source's name as its cluster.
package source
