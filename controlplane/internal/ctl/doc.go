// Package ctl is berthctl: its commands, what they print and with what code they end. It asks a control plane over the admin API, or reads
// directories itself (-f) and goes the way of the plane: source, store, compile, slots. It changes nothing itself; the orders under sources it gives to the plane.
//
// A run is one call of Run; it owns all of its state and has ended everything that it started when it returns.
//
// Invariants, which tests name:
//
//	CTL-1  The exit code is 0 when it was done (also when objects were rejected), 1 when it could not be done or a source cannot be read whole, 2 for
//	       wrong usage, 3 when a check found a difference.
//	CTL-2  What is asked for goes to standard output. What went wrong is one line on standard error that says what to do.
//	CTL-3  A source that cannot be read whole does not keep render and explain from showing what can be read.
//	CTL-4  JSON has stable bytes: the field names of the admin API's messages, all fields that are not messages, in the order of the protocol.
//	CTL-5  Text that comes from elsewhere cannot steer a terminal: what is no printable character is shown as '?' in tables and errors.
//	CTL-6  Every flag can be given as an environment variable; the flag wins.
package ctl
