// Package stream serves FleetService, the one stream of each node: the grammar at the top of fleet.proto, from the plane's side.
//
// Each stream has one owner, the session: the goroutine of the gRPC handler, which alone has the stream's state and decides what is sent next. Two
// more goroutines carry messages for it, one in and one out, so that a node that does not read cannot keep its session from hearing, from
// noticing that nothing moves, and from ending. Both end with the stream; Server.Close waits for all three.
//
// Invariants, each of which has a test file of its own:
//
//	STREAM-1  A node that has the newest and is not dirty is sent nothing. One that has something else is sent what differs: changes from the
//	          log, the buckets that differ, or everything, in this order (resume).
//	STREAM-2  One update is in flight. What changes meanwhile merges into the next, which starts from what the node says that it holds (in flight).
//	STREAM-3  A node never waits for an older epoch's plane: a Hello or a Received that tells of a higher epoch raises the fleet's above it,
//	          and nothing is sent again for that (epoch).
//	STREAM-4  A revision that a node's HAProxy refused is not sent to it again; generations flow on (rejected).
//	STREAM-5  A stream ends for silence and for lack of progress, each with its status, and never for slowness; a node that stops reading
//	          holds up nobody else, and costs at most 64 KiB beyond what all share (slow, silent, memory).
//	STREAM-6  The newest stream of a node wins; the older one ends with ABORTED (duplicate).
//	STREAM-7  Whatever a node sends, the plane answers with a status and goes on (limits, fuzz).
//	STREAM-8  A node of a fleet that is not known, or that is frozen, is told so, and served as soon as it can be; one that is too many, in all or in
//	          a second, is told when to come back (waiting).
//	STREAM-9  After Close no goroutine of a stream is left.
//	STREAM-10 While the plane learns which slot is whose, nothing is sent; one of the nodes that hold the same is asked. While the fleet is frozen, a node keeps
//	          the tables that the plane does not write to the bit, and is sent the others (adopt).
package stream
