// Package demo plays what Berth is for on one machine, for people to watch: a control plane, two fleets of two HAProxy nodes, deployments of small HTTP
// processes that a directory of YAML describes, and steady load through every node, while pods are replaced, routes come and go and tables grow.
//
// It starts everything through the harness, which ends it, and owns nothing else.
//
// Invariants:
//
//	DEMO-1  It ends by itself with a verdict, which is an error if a single request failed, if a step did not come true, or if at the end a worker's own answer is not
//	        what the plane wants.
//	DEMO-2  Whether it ends, fails or is interrupted: nothing that it started is left.
package demo
