// Package plan decides how a running worker comes from what it has to what is wanted: by which runtime commands and in which order, or by a
// reload and for what reason. It is pure: what the worker has is an argument, read from the worker by the caller, never assumed.
//
// Invariants, each with a property test that runs plans against a model of a worker:
//
//	PLAN-1  Any plan, applied in its order, gives the target, from whatever the worker had; and what equals the target needs no command.
//	PLAN-2  No server is ready at the placeholder at any moment: address (and weight) first and ready last, maint first and placeholder last. A server gets its
//	        address in an earlier phase than its state, so that the caller can wait between them until the worker shows it.
//	PLAN-3  Inside a backend all enables come first, then drains, then disables: a backend that has a ready server before and after
//	        has one at every moment between.
//	PLAN-4  A server that stays ready while its address is written over gets address and port in one command, without maint.
//	PLAN-5  The commands for a slot are those of that slot: the length of a plan follows what differs, not the size of the table.
//	PLAN-6  What lets traffic in or keeps it out beside slots and maps is as the configuration says: a worker that was left alone needs no command for it.
package plan
