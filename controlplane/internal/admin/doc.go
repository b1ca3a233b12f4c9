// Package admin serves AdminService: what people and berthctl ask the plane. It reads the compiler, the changelogs, the registry of nodes and the
// store, and asks a node for its worker's own answer. It changes nothing itself: an operator's orders it passes on to who owns what they are about.
//
// Invariants, each of which has a test of that name:
//
//	ADM-1  What is asked for and is not there is NOT_FOUND, what cannot be understood INVALID_ARGUMENT, and both say what there is instead.
//	ADM-2  Lists are paged: page by page they give every item once, in order, whatever comes and goes between the pages.
//	ADM-3  A node counts as having what its worker was read to have, never what it was sent.
//	ADM-4  DiffNode compares the newest tables with the worker's own answer of that moment, and finds every difference in a server's
//	       address, port, weight and state.
//	ADM-5  Watch begins with the present state and tells of every change from then on, merged for a client that reads slowly; it holds up nobody.
//	ADM-6  An order is done when it is answered: what it removed is out of the store. Where there is nothing to be done it is FAILED_PRECONDITION, and
//	       says why.
package admin
