package engine

import (
	"fmt"
	"slices"
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

// gateOf decides what may be published (ENG-2), and with that whether the fleet is frozen.
func (e *Engine) gateOf(f *fleet, now time.Time) (g gate, waiting string) {
	was := f.frozen
	f.frozen = false
	missing := e.missing(f)
	if missing == "" {
		return open, ""
	}
	published := f.log.Head().Published()
	switch held := e.foreign(f); {
	case held && f.adopting:
		return shut, missing + "; nodes keep what they have until then"
	case held && (was || !published):
		f.frozen = true
		return frozen, missing + "; routes and backends stay as they are, endpoints of the other sources flow"
	case held:
		return frozen, missing + "; what could be read had been published when a node came that holds a revision from before: it stays as it is, the others get endpoints only"
	case published:
		return open, missing + "; what can be read is published"
	case len(e.unread) > 0 && now.Sub(e.started) < e.config.Grace:
		return shut, missing
	}
	return open, missing + "; no node holds a revision, so what can be read is published"
}

// missing says why what can be read may not be all that there is.
func (e *Engine) missing(f *fleet) string {
	if len(e.unread) > 0 {
		return fmt.Sprintf("source %s has not been read in full since the control plane started", strings.Join(e.unread, ", "))
	}
	if e.bare {
		return "no source has an object, as if a volume were not mounted; if nothing is meant, forget the source or write so with a Fleet"
	}
	if unread := e.unreadOf(f); len(unread) > 0 {
		return fmt.Sprintf("source %s has no object, as if a volume were not mounted, and nodes serve endpoints of it; if nothing is meant, forget the source",
			strings.Join(unread, ", "))
	}
	return ""
}

// unreadOf lists the sources whose silence may not be taken for deletion: those that were not read, and those that are empty although nodes have
// endpoints of them in their slots.
func (e *Engine) unreadOf(f *fleet) []string {
	unread := slices.Clone(e.unread)
	for _, name := range e.empty {
		if e.bare || f.holds[name] {
			unread = append(unread, name)
		}
	}
	return unread
}

// foreign says whether a node of the fleet holds a revision that this plane has not published to nodes. What was published for people to see may be the very same, and lack
// endpoints all the same.
func (e *Engine) foreign(f *fleet) bool {
	for _, m := range e.config.Nodes.InUse(f.name) {
		if !m.Digest.IsZero() && (f.adopting || !f.log.KnowsRevision(m.Digest)) {
			return true
		}
	}
	return false
}
