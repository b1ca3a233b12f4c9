// Package soak lets random faults meet a whole Berth under load, and looks all the time for what must never be: a control plane on two sources, four nodes
// with HAProxies of two versions, a plain HAProxy of each version beside them as the yardstick, pods that come and go, routes and certificates that change.
//
// Faults are data (Kinds), and their schedule follows from a seed (Plan). A run is a row of rounds: a storm, in which faults overlap, and a calm, in which
// none is on and every node has to become as the plane wants it. What is found broken is told with the invariant, since when it is so, and the faults that
// were on.
//
// It owns the pods, the load and what it does to processes, files and networks; the processes themselves are the rig's.
//
// Invariants of the product that are looked at:
//
//	SOAK-1  No request fails, but those that a fault kills with HAProxy itself, or that a plain HAProxy would lose to it as well, which are counted to that fault, and those
//	        that the yardstick loses at the same time.
//	SOAK-2  A worker never has anything older than what its node has reported as applied of it.
//	SOAK-3  No endpoint is in two slots of a worker, no placeholder and no listener of its own is enabled, and an endpoint keeps its slot while it lives.
//	SOAK-4  Five seconds after the last fault is over every node has the newest of both sources: by the plane's word, by the worker's answer, and for requests.
//	SOAK-5  Agents and plane have no more goroutines and file descriptors in one calm than in the first one, and no process of HAProxy is left beside a master and its worker.
//
// And of the package itself:
//
//	SOAK-6  The same seed, length and kinds give the same plan. What it meets depends on the machine.
//	SOAK-7  Faults that take the same thing of the same place never overlap, and each is over when its storm is.
package soak
