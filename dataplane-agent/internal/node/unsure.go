package node

import (
	"time"

	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
)

// unsure is the doubt of an agent that has come back whether its journal is as new as the worker that it has found: changes are written to the disk beside their reports, and a
// journal that is damaged may have lost any number of them. Until the plane has said what is wanted, or some time has passed, nothing is taken back that an earlier agent has
// applied.
type unsure struct {
	// over says that the plane has spoken.
	over bool
	// damaged says that a part of the journal is lost; such a doubt has no end of its own.
	damaged bool
	// until is when an undamaged journal is relied on, zero if there is no doubt.
	until time.Time
}

// now says whether the doubt lasts.
func (u unsure) now(now time.Time) bool {
	return !u.over && (u.damaged || now.Before(u.until))
}

// doubt begins the doubt when the first worker that this agent meets is at odds with what is held.
func (n *Node) doubt(now time.Time) {
	if n.unsure.over || n.unsure.damaged || !n.unsure.until.IsZero() {
		return
	}
	if n.unsure.until = now; n.loaded == nil || n.atOdds() {
		n.unsure.until = now.Add(n.cfg.Grace)
	}
}

// atOdds says whether the worker, as it was just read, has slots that are not held.
func (n *Node) atOdds() bool {
	for t := range n.held.Generation.All() {
		if n.loaded.Backend(t.Backend) != nil && len(plan.Different(n.worker.Backends()[t.Backend], n.excepted.free(t))) > 0 {
			return true
		}
	}
	return false
}
