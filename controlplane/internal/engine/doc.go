// Package engine is the one loop that turns changes of the store into publications: it compiles them, seats the endpoints, and writes the
// changelog of each fleet. It owns the compiler's writing side, the slot tables (they are the newest generation of each log) and the
// directory of fleets. It serves nobody and reads no file.
//
// The loop is level-triggered and has no debounce: an idle loop publishes a change at once, and what changes while it works is one merged change
// for the next turn.
//
// Invariants, each of which has a test of that name:
//
//	ENG-1  What is published is what is wanted: the revision is the compiler's, and every endpoint that takes traffic is in a slot of its
//	       backend's table.
//	ENG-2  Silence of a source is never deletion (P9): until a source was read in full once (all that came after it was empty included), and while it has no object although nodes have endpoints of it in
//	       their slots, nothing is published that could take something away from a node that holds a revision from before the plane's start: such a fleet is
//	       frozen, and only the tables of the other sources are published. A fleet of which no node does gets what is readable, ten
//	       seconds after its first node: those that hold a revision may be on their way back.
//	ENG-3  The table of a backend that left the revision stays, and follows its pods, until no node runs or holds a revision that has it.
//	ENG-4  A change of one backend's endpoints costs the work of one backend (P8), also while much else waits for a source.
//	ENG-5  A table shrinks only in a step in which nodes reload anyway.
//	ENG-6  A plane that has started with nothing seats from the positions that its nodes tell (P12): who is there stays in its slot, only slots of those that
//	       came or went change, and its numbers go on above theirs. What it publishes before is for people to see; no node is sent it. Who comes late moves
//	       nobody.
package engine
