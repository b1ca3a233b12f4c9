// Package render writes a snapshot as the files that HAProxy reads, and a slot as the words of a server line. It is pure: the same
// snapshot and machine give the same bytes, on the node, in the plane and in berthctl. What belongs to a machine comes in a Machine.
//
// Invariants:
//
//	RENDER-1  Words come back from HAProxy as they were given: no word ends its line, begins another word, a comment, a variable or
//	          a section. A word that could is an error that names its resource and line.
//	RENDER-2  Nothing of a server state file is ever written (P2), and a free slot is the disabled placeholder, whatever held it
//	          before (P1, P3).
//	RENDER-3  The order is fixed: global, defaults, other sections, frontends, backends, each by name. The order of changes that led
//	          to a snapshot leaves no trace.
//	RENDER-4  A server that was added at run time and the same server after a reload have the same name, id, address, weight and
//	          options.
//
// HAProxy 2.6 and 3.4 accept what is written here without a warning.
package render
