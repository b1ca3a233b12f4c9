// Package changelog holds the newest snapshot of one fleet and a bounded log of the changes that led to it, so that what changed since a
// node's state is read and merged, and not found by comparing everything.
//
// A Log has one writer of content, the engine; RaiseEpoch may be called by anybody. What it gives out is immutable: a Head is a value that a
// reader may keep, and its Superseded channel is closed when there is a newer one. Nothing is queued for readers: the log is a linked
// list whose head a reader jumps to whenever it comes back (P7), and the garbage collector is the queue's limit. Readers keep marks, not
// pieces of the list, so a slow one pins nothing.
//
// Where an update starts is found by digests and not by versions, for each clock by itself: a node that stayed at an old revision still gets the
// generations' changes, a plane that raised its epoch sends nothing again, and content that went A, B, A leads from A to the newest without B.
//
// Invariants, each of which has a test of that name:
//
//	LOG-1  The update since a state, applied to that state, gives the head, whatever happened in between and whichever clocks it covers.
//	LOG-2  Versions of a clock only grow, also over a change of the epoch and of the numbers; equal content does not get a new version, except by these.
//	LOG-3  A raised epoch renumbers both clocks and changes no digest: a state that was equal to the head is equal to it still.
//	LOG-4  The log is bounded. What is older than it remembers is said to be unknown, never guessed.
//	LOG-5  Whoever asks for the same update from the same head gets the same encoded bytes, made once.
//	LOG-6  A reader that waits for Superseded of the head that it has seen misses no head for good.
//	LOG-7  A node that holds tables beside those of the log is led to the log's newest tables and keeps its others, bit by bit, until the log writes a
//	       table of that name.
package changelog
