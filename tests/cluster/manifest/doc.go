// Package manifest writes Kubernetes objects as YAML into a directory source: one file for each object, renamed into
// place, so that a reader sees an object's old form or its new one and nothing between.
//
// The objects are reduced to the fields that tests set. It owns the files that it wrote and never reads the directory.
//
// Invariants:
//
//	MAN-1  A file appears and changes by rename only; the temporary file's name starts with a dot, which a directory
//	       source leaves out.
//	MAN-2  A condition that is nil is not written: absent and false are different in an EndpointSlice.
package manifest
