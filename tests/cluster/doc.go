// Package cluster plays the part of a Kubernetes cluster for tests and the demo: deployments of small HTTP pods, and
// the Services, EndpointSlices and Ingresses that describe them, written as YAML into a directory source.
//
// A Cluster owns its pods and their addresses. A Deployment owns its pods' conditions and the slices that say them;
// its mutex is never held while a file is written or a pod is started or ended.
//
// Invariants:
//
//	CLU-1  A pod is ready in a slice only after it has answered.
//	CLU-2  A pod that ends well is first written as terminating, then serves on, then ends, then leaves the slice.
//	       A pod that exits at SIGTERM is gone before the slice says so.
//	CLU-3  No two living pods have the same address, and no pod's port is an HAProxy listener's.
//	CLU-4  A slice's file is rewritten only when its content changed, and the newest state is always written last.
package cluster
