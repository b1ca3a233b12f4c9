// Package compile keeps the wanted state of every fleet up to date from the changes that the store tells of. It lowers the neutral model of package
// desired to snapshot resources, and owns what has to be remembered between two changes: who claims which host, which objects depend on which, what was last
// accepted.
//
// It decides nothing about objects itself (desired does), assigns no slot (slots does) and publishes nothing (the engine does).
//
// One goroutine, the engine's, calls Compile and Release. Every other method is a reader and may be called from any goroutine; a reader waits while a change is
// compiled.
//
// Invariants, which tests name:
//
//	COMP-1  Compiling changes one by one gives the same revision, endpoint sets and problems as compiling the end state at once. What was last
//	        accepted is excepted: it is history by its nature.
//	COMP-2  The cost follows the change: an EndpointSlice touches the backends of its service, an Ingress its own hosts, a Secret and a BackendPolicy their users.
//	        Only a Fleet or an IngressClass may touch a whole fleet.
//	COMP-3  A FleetChange holds differences only: a resource that is as it was is not in it, nor an endpoint set that is as it was.
//	COMP-4  The endpoints of a retired backend follow its pods until it is released, because workers may still have it.
//	COMP-5  Explain walks through the entries of the revision as HAProxy does, so it cannot tell a request's way otherwise.
package compile
