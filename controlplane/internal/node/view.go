package node

import (
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Key names a node.
type Key struct{ Fleet, Name string }

// Problem is why something was not taken.
type Problem struct {
	Code    fleetv1.Code
	Message string
}

// Excepted is a slot that a node could not take.
type Excepted struct {
	Problem
	Backend string
	Slot    int
}

// Failure is what stands in a node's way.
type Failure struct {
	Problem
	// Wanted is what the node was trying to reach.
	Wanted wire.Marks
}

// View is what is known of a node at one moment.
type View struct {
	Key
	// Sequence grows with every change of any node, so that a reader finds what is new to it.
	Sequence uint64

	Connected bool
	// ConnectedSince is when its newest stream began, LastHeard when a message of it came.
	ConnectedSince, LastHeard             time.Time
	Address, AgentVersion, HAProxyVersion string
	Capabilities                          []fleetv1.Capability

	// Held is what it holds from a plane or its disk; Applied is what its worker has been read to have, not to be relied on while it is
	// Dirty.
	Held, Applied wire.Marks
	Dirty         bool
	// Waiting is why the plane sends it nothing, if so.
	Waiting Problem
	// Failed is what stands in its way, if something does.
	Failed   Failure
	Excepted []Excepted

	WorkerPID                       int64
	OldWorkers                      uint32
	Reloads, Drifts, WorkerRestarts uint64
	// Latency is that of the last change: from the source to the node's Applied. Zero before the first.
	Latency time.Duration

	// kept is what tables that the plane does not write add to the digest of the node's generation: those of sources that were not read yet.
	kept snapshot.Digest
	// rejected are the revisions that its HAProxy refused, oldest first.
	rejected []rejection
}

type rejection struct {
	Problem
	revision snapshot.Digest
}

// Rejected says whether and why the node's HAProxy refused the revision.
func (v View) Rejected(revision snapshot.Digest) (Problem, bool) {
	for _, r := range v.rejected {
		if r.revision == revision {
			return r.Problem, true
		}
	}
	return Problem{}, false
}

// State says in one word how a node stands to the newest of its fleet.
type State int

// The states of a node.
const (
	Disconnected State = iota
	// Waiting: its fleet is not known, or frozen.
	Waiting
	// Rejected: HAProxy refused the newest revision.
	Rejected
	// Failed: something around it stands in the way.
	Failed
	// Behind: on its way.
	Behind
	// Current: its worker has been read to have the newest revision and generation.
	Current
)

// State compares the node with the newest of its fleet.
func (v View) State(newest wire.Marks) State {
	_, rejected := v.Rejected(newest.Revision.Digest)
	switch {
	case !v.Connected:
		return Disconnected
	case v.Waiting.Code != 0:
		return Waiting
	case rejected:
		return Rejected
	case v.Failed.Code != 0:
		return Failed
	case v.HasRevision(newest.Revision) && v.HasGeneration(newest.Generation):
		return Current
	}
	return Behind
}

// HasRevision says whether the node's worker has been read to have the revision.
func (v View) HasRevision(m wire.Mark) bool { return !v.Dirty && v.Applied.Revision.Digest == m.Digest }

// HasGeneration says whether the node's worker has been read to have the generation.
func (v View) HasGeneration(m wire.Mark) bool {
	return !v.Dirty && v.Applied.Generation.Digest == m.Digest.Add(v.kept)
}

// Lag is how many generations the node is behind the newest. Of a generation that another plane numbered it is all that there are.
func (v View) Lag(newest wire.Mark) uint64 {
	applied := v.Applied.Generation
	switch {
	case applied.Digest == newest.Digest.Add(v.kept):
		return 0
	case applied.Version.Number < newest.Version.Number:
		return newest.Version.Number - applied.Version.Number
	}
	return newest.Version.Number
}
