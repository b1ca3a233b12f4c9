package changelog

import (
	"sync/atomic"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/adoption"
)

// Fleet is the log of one fleet and whether it is complete. It is immutable.
type Fleet struct {
	Name string
	Log  *Log
	// Waiting says why not everything that is wanted is published, for people; empty when it is. While it is set, a node whose revision the log
	// does not know keeps what it has: silence of a source is never deletion (P9).
	Waiting string
	// Adopting says that the plane still learns which slot is whose: nobody is sent anything.
	Adopting bool
	// Frozen says that nodes hold a revision that the plane does not have, and that it has not read all sources: nobody is sent a revision, nodes without one
	// wait, and the others are sent changes of the tables that the log has, beside those that they keep.
	Frozen bool
	// Adoption is where sessions report whom they have met; nil when nothing is to be learnt any longer.
	Adoption *adoption.Fleet
}

// Fleets are all fleets at one moment. It is immutable.
type Fleets struct {
	byName     map[string]Fleet
	superseded chan struct{}
}

// Get returns the fleet of that name.
func (f *Fleets) Get(name string) (Fleet, bool) {
	found, ok := f.byName[name]
	return found, ok
}

// All returns the fleets by name. It is not to be altered.
func (f *Fleets) All() map[string]Fleet { return f.byName }

// Superseded is closed when there are newer Fleets.
func (f *Fleets) Superseded() <-chan struct{} { return f.superseded }

// Directory leads to the logs of all fleets. It has one writer.
type Directory struct{ now atomic.Pointer[Fleets] }

// NewDirectory gives a directory without fleets.
func NewDirectory() *Directory {
	d := &Directory{}
	d.Set(nil)
	return d
}

// Fleets are those of now.
func (d *Directory) Fleets() *Fleets { return d.now.Load() }

// Set replaces the fleets and wakes whoever waits for that. The map is not to be altered afterwards.
func (d *Directory) Set(byName map[string]Fleet) {
	if old := d.now.Swap(&Fleets{byName: byName, superseded: make(chan struct{})}); old != nil {
		close(old.superseded)
	}
}

// KnowsRevision says whether an update can start from that revision.
func (l *Log) KnowsRevision(digest snapshot.Digest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known := l.revisions[digest]
	return known
}
