// Package plane keeps the node's stream to a control plane: it greets, hands updates to the node, and sends the node's news. It owns connections and
// streams and nothing of what they carry.
//
// Invariants:
//
//	PLANE-1  One stream at a time; the addresses are tried in turn, with exponential back-off and full jitter, which starts again only after a stream has
//	         worked for as long as the longest pause. A plane's request to wait is kept, up to a minute.
//	PLANE-2  A stream on which nothing is heard for Silence is ended, whatever its other direction does; a part of a large message that comes slowly is
//	         heard. A heartbeat is sent when nothing else was for Heartbeat.
//	PLANE-3  Updates reach the node in the order of the stream, whole, one after the other; each is answered by Received.
//	PLANE-4  News is sent level-triggered: a slow stream is told what is true now.
//	PLANE-5  Every goroutine of a stream has ended before the next stream begins.
//	PLANE-6  A node that has lost a part of what it has told ends its stream and greets anew.
package plane
