// Package app is the control plane as a whole: its configuration, and the wiring of its parts, by hand and from top to bottom.
//
// A Plane listens when it is made, so that a port that is taken is known before anything starts, and lives in Run. When the context ends, nodes
// are told to come back, watches end, and Run returns when nothing of it is left.
package app
