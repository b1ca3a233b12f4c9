// Package architecture holds the rules about who may depend on whom, as tests that ask the go command. It has no other code: a rule that only
// stands in a document is broken within a month, and nobody notices when.
//
// Invariants:
//
//	ARCH-1  Pure packages import the standard library (without its I/O) and the snapshot model; the model itself one immutable tree
//	        besides, and desired the types of Kubernetes' objects.
//	ARCH-2  Nothing that the agent is built from belongs to Kubernetes.
//	ARCH-3  Dependencies point one way: controlplane → api, proto; dataplane-agent → api, proto; api → proto for the wire alone; proto → nothing.
//	ARCH-4  The protocol's module needs gRPC and protobuf only.
//	ARCH-5  A metric that an alert, the dashboard or a page names is registered by somebody, and each one is explained.
//	ARCH-6  No text of the product's code is of a server state file (P2).
package architecture
