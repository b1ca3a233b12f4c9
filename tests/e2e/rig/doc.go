// Package rig puts a whole Berth together for a test, a benchmark or the demo: a control plane on one directory of YAML, nodes of one or more
// fleets with real HAProxies, and a cluster of pods. It asks both sides what they have: the plane through its admin API, the workers through
// their own sockets, and says where they differ.
//
// It owns what it started, through the harness that ends it. It links nothing of the product but the protocol.
//
// Invariants:
//
//	RIG-1  What the plane wants is asked of the plane, what a worker has of that worker; neither is ever derived from the other.
//	RIG-2  A worker is known by its pid and the start of its process. A change of it is a reload, whoever counted it.
package rig
