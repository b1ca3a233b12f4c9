// Package haproxy looks at real HAProxy processes from outside, with its own eyes: it asks their sockets, finds and
// ends their processes, samples what must never be true of a worker, and runs a plain HAProxy without Berth to compare
// with. It shares no code with the product, so that a mistake in the product's reading of an answer is not repeated in
// the test that should find it.
//
// It owns the plain HAProxies that it started, and nothing else: everything that it asks of another's HAProxy is a
// question. It does not need the testing package; the demo uses it too.
//
// Invariants:
//
//	HAP-1  Every question has a connection of its own, which is closed when the answer is there: a connection that
//	       stayed open would keep a leaving worker alive and go on speaking to it.
//	HAP-2  A process is ended by its pid and start time, never by a name, and its end is verified.
//	HAP-3  A sample that finds a server enabled with the placeholder's address, at a listener of its own HAProxy, or
//	       one endpoint enabled twice in a backend is kept as a violation, with the time and the server.
package haproxy
