// Package pod is a small HTTP server that stands for a Kubernetes pod: it listens on an address of its own, speaks
// HTTP/1 and HTTP/2 by prior knowledge, names itself in every answer, and ends as pods end. It runs inside the test
// process (Start) or as a process of its own (StartProcess, with Main in the binary's main).
//
// It owns its listener, its connections and its counter of requests. It knows nothing of Kubernetes or HAProxy.
//
// Invariants:
//
//	POD-1  Every answer carries X-Pod and X-Service, and for a request with a body X-Body-Length and X-Body-Sum (the
//	       CRC-32 of what arrived), so that a client can tell a stranger or a mangled body.
//	POD-2  A pod that serves on after Terminate takes new connections until the time is over; then requests that run
//	       are finished and idle connections closed.
//	POD-3  Kill closes the listener and resets every connection at once, whatever runs on it.
//	POD-4  A pod process ends when its parent does: it watches its standard input.
package pod
