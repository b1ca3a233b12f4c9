// Package link is the network between a node and its plane, as a test wants it: a TCP relay on loopback that is cut, slowed, or stopped in one direction,
// and that counts what passes. What comes in is what goes out, in order: like a network it loses a connection or delays it, and nothing in between.
//
// It owns its connections, and ends them with the test.
//
// Invariants:
//
//	LINK-1  In a direction that is stopped nothing passes, whatever was read before; all of it passes afterwards unless the connection was cut meanwhile.
//	LINK-2  A side that was abandoned (Abandon) sees an open connection until Restore; what the other side had sent still arrives.
//	LINK-3  After the test no connection and no goroutine is left.
package link
