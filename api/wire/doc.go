// Package wire turns changes of a snapshot into the frames of berth.fleet.v1 and back, for the stream and for the agent's journal, whose
// records are the same frames. It owns the limits of the protocol: what it lets out keeps them, and what comes in and breaks one is an
// Error that names the resource, never a panic. It does no I/O and starts no goroutine.
//
// Invariants:
//
//	WIRE-1  What is taken apart into frames, marshalled, and put together again is the same update, whatever the size of a frame.
//	WIRE-2  An update counts when its last frame is in; of an update that is broken off or not in order nothing is kept.
//	WIRE-3  An update changes nothing unless its base is what the receiver holds and its result has the digest that was announced.
//	WIRE-4  Whatever bytes come, the memory held for them is bounded by MaxUpdate and MaxTotalSlots; for an answer to AskPositions by
//	        MaxPositionBytes, MaxTold and MaxTotalSlots.
//	WIRE-5  The bytes that many streams share are the same as those that one stream would have encoded.
//	WIRE-6  Positions that are put together again are those that the tables had, whatever the size of a frame, and the digests of their tables add
//	        up to that of their generation.
package wire
