// Package slots decides which reserved server line of a backend each of its endpoints holds. It is one pure function of the table before, the
// endpoints wanted now and the policy; it owns no state and knows no clock but the number of the generation that it works for.
//
// Invariants, each of which has a property test of that name:
//
//	SLOT-1  An endpoint keeps its slot while it lives, whatever comes and goes beside it. Only a draining one can lose it, and only to a
//	        newcomer that found no free slot.
//	SLOT-2  No slot is shared, no endpoint has two, and a slot holds nothing but an endpoint that is wanted now.
//	SLOT-3  A newcomer takes, in this order: the slot that has been free longest (one that was never taken counts as free longest of all; among
//	        equals the lowest index); the slot that has drained longest; the slot of an endpoint that goes in the same step, of those first one
//	        that had drained; a slot of a longer table.
//	SLOT-4  A slot that is vacated in a step is not reused in it while another is free.
//	SLOT-5  Every endpoint that takes traffic has a slot, up to snapshot.MaxSlots of them; who comes later gets none. A table is sized when
//	        it is made and again only when a newcomer finds no place, and Assign never shortens it.
//	SLOT-6  The delta turns the table before into the table after. Asking again with the same endpoints changes nothing, except that it may
//	        seat a draining endpoint that found no place before.
//	SLOT-7  Since is the number of the step that freed the slot or let it drain, is kept while that state lasts, and is zero in a ready slot.
//	SLOT-8  Shrink cuts free slots off the end only, and only where the right size is at most half.
//
// A draining endpoint that has no slot is of little use: nobody was sent to it through this table. It gets a slot that was free before the step
// and that no ready newcomer wants, so that people see it and sticky clients find it, and never another's, a vacated or an added one. So a
// draining endpoint that was given up comes back when there is room, and costs nobody a place.
//
// The result depends on the order of the endpoints: newcomers are seated in the order in which they are given. Callers sort them.
package slots
