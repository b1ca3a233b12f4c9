// Package node is the agent's one loop. It owns HAProxy on this machine: no other goroutine writes to a worker, decides on a reload or changes what the node
// holds.
//
// After every event (an update from the plane, the end of a reload, a timer) the loop goes from what the worker has to the newest that is held: changes that
// a running worker takes are written at once, and what needs a reload is left to a task beside the loop, so that a reload never holds an endpoint
// change back. There is at most one task at a time, and the loop hears its end as an event.
//
// Invariants:
//
//	NODE-1  The newest wins: an update replaces what is wanted, and nothing older is ever applied after it.
//	NODE-2  During a reload, changes go to the old worker; the new one is brought to the newest tables as soon as it serves, from what its
//	        configuration said, and is then read back whole.
//	NODE-3  Applied is reported only of what was read back; a slot that was refused is reported beside it.
//	NODE-4  A connection to a leaving worker is closed.
//	NODE-5  A revision that HAProxy refused is not tried again while its content is the same; the last good one goes on, and endpoint changes with it.
//	NODE-6  Reloads come at once when it is quiet, then spaced and merged, and wait while too many old workers are left.
//	NODE-7  No slot is ever set to a listener of this HAProxy, neither at run time nor by a configuration.
//	NODE-8  What is to be done follows from what is known (what runs, what is held, what was refused) and from no list of things to do: a change that was taken back
//	        needs nothing, and one change needs one reload.
//	NODE-9  Nothing but the worker itself is waited for in the loop: a master, a configuration that is written or a check that takes its time holds no endpoint change back.
//	        Two things are short: the file of a certificate is written when it comes, and while no worker is known its master is asked, for a second at most.
//	NODE-10 HAProxy is started only when no process of the one before lives, whatever its sockets say.
//	NODE-11 What somebody removes from the state directory under a HAProxy that runs comes back by itself; what only the plane knows it is asked for.
//	NODE-12 What somebody changes in the worker by hand is found, taken back and told: what keeps traffic out at the next looks, the rest at a verification.
//	NODE-13 A HAProxy that something else runs is reloaded and never started or ended; one that reads another file than the one that is written for it is let alone, and that is told.
//	NODE-14 An agent that has come back takes nothing back that the worker has before its plane has had time to speak, and nothing at all by a journal that is damaged.
package node
