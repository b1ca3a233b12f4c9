package engine

import (
	"fmt"
	"strings"
	"time"
)

// gate says how much of a fleet may be published.
type gate int

const (
	// shut: nothing yet.
	shut gate = iota
	// frozen: generations, but no revision.
	frozen
	// open: everything.
	open
)

// judge sets the fleet's gate, and says so when it changed.
func (e *Engine) judge(f *fleet, now time.Time) {
	before, said := f.gate, f.waiting
	f.gate, f.waiting = e.gateOf(f, now)
	if f.gate == before && f.waiting == said {
		return
	}
	log := e.config.Log.With().Str("fleet", f.name).Logger()
	switch {
	case f.waiting == "" && said == "":
	case f.waiting == "":
		log.Info().Msg("every source has been read in full; everything is published")
	default:
		log.Warn().Str("reason", f.waiting).Msg("not everything is published")
	}
}

// gateOf decides what may be published (ENG-2).
func (e *Engine) gateOf(f *fleet, now time.Time) (g gate, waiting string) {
	missing := e.missing()
	if missing == "" {
		return open, ""
	}
	switch held := e.foreign(f); {
	case held && f.log.Head().Published():
		return frozen, missing + "; a node holds a revision from before: routes and backends stay as they are, endpoints flow"
	case held:
		return shut, missing + "; nodes keep what they have until then"
	case f.log.Head().Published():
		return open, missing + "; what can be read is published"
	case len(e.unread) > 0 && now.Sub(e.started) < e.config.Grace:
		return shut, missing
	}
	return open, missing + "; no node holds a revision, so what can be read is published"
}

// missing says why what can be read may not be all that there is.
func (e *Engine) missing() string {
	switch {
	case len(e.unread) > 0:
		return fmt.Sprintf("source %s has not been read in full since the control plane started", strings.Join(e.unread, ", "))
	case e.bare:
		return "no source has an object, as if a volume were not mounted; if nothing is meant, write so with a Fleet"
	}
	return ""
}

// foreign says whether a node of the fleet holds a revision that this plane has not published.
func (e *Engine) foreign(f *fleet) bool {
	for _, m := range e.config.Nodes.InUse(f.name) {
		if !m.Digest.IsZero() && !f.log.KnowsRevision(m.Digest) {
			return true
		}
	}
	return false
}
