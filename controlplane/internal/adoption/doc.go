// Package adoption learns from the nodes of a fleet, after the plane has started with nothing, which slot is whose (P12). It owns what was told, who is asked and who
// has to be; it sends nothing and starts no goroutine. The sessions of the streams report whom they have met and what was answered, the engine
// reads what is to be adopted.
//
// Invariants, each of which has a test of that name:
//
//	ADOPT-1  Nodes that hold the same generation are one question: one of them is asked, another when it leaves or is slow, and no node twice.
//	ADOPT-2  Of each backend the table of the highest version is adopted; of equal versions that differ, that of the lowest digest, and the
//	         difference is counted. In which order nodes and answers come, and who of those that hold the same is asked, does not matter.
//	ADOPT-3  The same endpoints, seated from the positions of a table, give that very table; with other endpoints only the slots of those that
//	         came or went differ.
//	ADOPT-4  What a node tells decides who sits where and nothing else: no address, port, name or weight of it gets into a table, a time in the future
//	         counts as now, and lengths are bounded for the fleet as a whole.
//	ADOPT-5  The wait ends: when its time is over, when no answer is due any longer, and each answer is due for a bounded time.
//	ADOPT-6  What is kept of answers that are not complete is bounded for the fleet as a whole, however many nodes are asked and go on telling.
package adoption
