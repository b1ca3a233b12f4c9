// Package worker knows one running HAProxy worker: what its servers and maps are, as it was read from the worker itself, and how to bring it to what is
// wanted at run time. It is the shell around package plan.
//
// A Worker is owned by one goroutine, the node's. It holds the one connection to the worker's runtime socket, which ends with it: an open
// connection would keep a leaving worker alive.
//
// Invariants:
//
//	WORKER-1  What Apply reports as equal has been read from the worker after it was written, in a write of its own, and read again for a while
//	          before it counts as different: HAProxy answers an address change before it is visible.
//	WORKER-2  A slot that HAProxy refuses is made free and reported; nothing else of the batch is held back.
//	WORKER-3  The commands of a batch are written in the order of their phases, over all backends.
//	WORKER-4  After an error nothing that was written is taken for known: the tables concerned are read again before the next plan.
//	WORKER-5  A server is enabled when the worker shows its address, and not before: until then HAProxy would send it traffic at the old one, the placeholder.
package worker
