package changelog

import (
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
)

// Head is the newest snapshot of a fleet at one moment. It is immutable.
type Head struct {
	// Revision and Generation are never nil; their versions are zero until something has been published.
	Revision   *snapshot.Revision
	Generation *snapshot.Generation
	// Epoch is the plane's, above every epoch that it has heard of.
	Epoch uint64
	// RevisionTime and GenerationTime say when each was published.
	RevisionTime, GenerationTime time.Time

	// revisionFloor and generationFloor are numbers that nodes have of planes before this one: its own go on above them.
	revisionFloor, generationFloor uint64

	sequence   uint64
	superseded chan struct{}
	updates    *updates
}

// Published says whether there is anything that a node could be sent.
func (h *Head) Published() bool { return !h.Revision.Version.IsZero() }

// Marks are both clocks of the head.
func (h *Head) Marks() wire.Marks { return wire.MarksOf(h.Revision, h.Generation) }

// Superseded is closed when the log has a newer head.
func (h *Head) Superseded() <-chan struct{} { return h.superseded }

// NextGeneration is the version that the next generation will have, unless the epoch is raised before.
func (h *Head) NextGeneration() snapshot.Version {
	return above(h.Generation.Version, h.generationFloor).Next(h.Epoch)
}

// NextRevision is the version that the next revision will have, unless the epoch is raised before.
func (h *Head) NextRevision() snapshot.Version {
	return above(h.Revision.Version, h.revisionFloor).Next(h.Epoch)
}

// above is v with the number raised to the floor.
func above(v snapshot.Version, floor uint64) snapshot.Version {
	return snapshot.Version{Epoch: v.Epoch, Number: max(v.Number, floor)}
}
