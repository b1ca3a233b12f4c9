// Package simnode plays nodes without a HAProxy, by the hundred, over the real protocol: each greets, takes updates, answers and beats as an agent does, and
// comes back when its stream ends. It can also behave as no agent should.
//
// It owns its streams and connections, and ends them when its context ends. What it knows of the protocol is api/wire.
//
// Invariants:
//
//	SIM-1  A node that holds content applies each update to it and checks its digests; one that holds marks only checks that they fit.
//	SIM-2  What a node was sent is counted at the node: updates, their bytes and scope. An update that leads to an older version than the node holds, or one that does not
//	       fit, is a violation.
//	SIM-3  A node comes back as an agent does: exponential back-off with full jitter, and as long as it was asked to wait.
package simnode
