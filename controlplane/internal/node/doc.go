// Package node remembers what each node of each fleet has told: what it holds, what its worker has been read to have, what it refused and
// what stands in its way. It owns these records and nothing else; it sends nothing and starts no goroutine.
//
// Invariants, each of which has a test of that name:
//
//	NODE-1  A version counts as a node's only when the node says that its worker was read to have it, and while the node is not dirty. What
//	        was sent or received never counts.
//	NODE-2  Of several streams of one node the newest speaks for it: from the moment that it connects, an older one is told so and
//	        changes nothing any more.
//	NODE-3  A View is immutable and of one moment. Readers wait for changes without holding anybody up, and a change that came while
//	        they were busy is found when they look again.
//	NODE-4  The revisions in use are those of every node that was heard of within Retention, connected or not: a node that is away for a
//	        moment finds the slots of its revision kept. Of nodes that are away no more than MaxAway are remembered, the last of them.
package node
