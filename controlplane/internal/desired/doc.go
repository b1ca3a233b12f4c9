// Package desired turns Kubernetes objects into the neutral model that the rest of the plane works on: hosts with their routes,
// backends with their settings, endpoint sets, certificates. It is a set of pure functions: each judges the rows that it is given and nothing else,
// keeps nothing, reads no clock and alters no object (they belong to all readers at once).
//
// It knows Kubernetes and no HAProxy; the compiler above it knows HAProxy and decides when which function runs again.
//
// Invariants, which tests name:
//
//	WANT-1  One bad part harms itself alone. Every function returns the sound rest together with the reasons for what it left out.
//	WANT-2  Every result depends on the set of its inputs, never on their order: conflicts are decided by Age.
//	WANT-3  What comes out is clean: host names, paths and values hold no white space, control character or invalid UTF-8, so nothing
//	        that somebody writes into an object can add a word or a line to a configuration.
//	WANT-4  Nothing is served in clear text because of a fault in what should have protected it: a host under a tls entry whose
//	        certificate was never good is claimed and closed.
package desired
