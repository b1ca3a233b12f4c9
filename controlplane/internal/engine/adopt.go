package engine

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/adoption"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/slots"
)

// learning is what a fleet has of the plane's start: which slot is whose, as its nodes tell (ENG-6).
type learning struct {
	// adoption is where sessions report; nil when nothing is to be learnt any longer.
	adoption *adoption.Fleet
	// adopting says that nothing has been sent yet and that the nodes' positions may still come.
	adopting bool
	// met is when the first node was seen to be there.
	met time.Time
	// compiled are the endpoints of all backends while adopting: they are seated again when the positions are known.
	compiled map[string]compile.Backend
	// adopted is what was told, until every source's backends have been seated from it; holds are the sources whose endpoints sat in slots.
	adopted *adoption.Adopted
	holds   map[string]bool
	// frozen says that nodes have a revision that the plane has not, and keep the tables of the sources that were not read.
	frozen bool
	// aside are the endpoints of those sources, asideFor, which wait for its end.
	aside    map[string]compile.Backend
	asideFor []string
	// thawing says that this ends just now.
	thawing bool
	// tried is what was last found not to be wanted as it is.
	tried trial
}

type trial struct {
	held wire.Marks
	head *changelog.Head
}

// adopt ends the adoption of a fleet when its time has come. next is when to look again, zero if only for news.
func (e *Engine) adopt(f *fleet, now time.Time) (next time.Time) {
	if f.adoption == nil {
		return time.Time{}
	}
	s := f.adoption.Status(now)
	if f.met.IsZero() && (s.Over || !s.Next.IsZero()) {
		f.met = now
	}
	if until := f.met.Add(e.config.Return); f.adopting && s.Over && now.Before(until) && e.missing(f) != "" && !e.foreign(f) {
		return until
	}
	if f.adopting && (s.Over || e.agrees(f, s.Uniform)) {
		e.endAdoption(f)
	}
	return s.Next
}

// agrees says whether all nodes that are there hold exactly what is wanted, so that there is nothing to wait for.
func (e *Engine) agrees(f *fleet, held wire.Marks) bool {
	head := f.log.Head()
	if held.Revision.Digest.IsZero() || held.Revision.Digest != head.Revision.Digest() || !f.revision.Empty() || e.missing(f) != "" || f.tried == (trial{held, head}) {
		return false
	}
	f.tried = trial{held, head}
	told := f.adoption.Told()
	at := snapshot.Version{Epoch: head.Epoch, Number: told.Generation + 1}
	var sum snapshot.Digest
	for name, b := range f.compiled {
		t, _ := seat(name, b, told, head.Generation.Table(name), at)
		sum = sum.Add(t.Digest())
	}
	return sum == held.Generation.Digest
}

// endAdoption takes what was told as it is. What has been published so far was for people to see; it is seated again.
func (e *Engine) endAdoption(f *fleet) {
	a, held := f.adoption.Close(), e.foreign(f)
	f.adopting, f.adopted, f.holds = false, a, map[string]bool{}
	for _, backend := range a.Backends() {
		if a.Takes(backend) {
			f.holds[e.sourceOf(backend)] = true
		}
	}
	maps.Copy(f.compiled, f.endpoints)
	f.endpoints, f.compiled, f.tried = f.compiled, nil, trial{}
	if held && e.missing(f) != "" {
		f.unpublish(e.config.Limits)
	}
	f.log.RaiseNumbers(a.Revision, a.Generation)
	if a.Conflicts > 0 && e.config.Conflicts != nil {
		e.config.Conflicts(a.Conflicts)
	}
	e.config.Log.Info().Str("fleet", f.name).Int("nodes", a.Nodes).Int("backends", len(a.Backends())).Int("conflicts", a.Conflicts).
		Msg("slot positions are adopted from the nodes")
}

// unpublish takes back what was published for people to see, before any node was sent it: it may lack what was not read.
func (f *fleet) unpublish(limits changelog.Limits) {
	old := f.log.Head()
	if !old.Published() {
		return
	}
	f.log = changelog.New(limits)
	f.log.RaiseEpoch(old.Epoch - 1)
	f.revision = old.Revision.Full().Merge(f.revision)
	clear(f.retired)
}

// learnt lets go of what was told once everything is seated.
func (f *fleet) learnt() {
	if f.adopting || f.frozen || !f.log.Head().Published() {
		return
	}
	f.adoption, f.adopted, f.holds = nil, nil, nil
}

// sourceOf is the source whose backends have such names, empty if none has.
func (e *Engine) sourceOf(backend string) string {
	home, found := e.config.Compiler.Home(), ""
	for _, name := range e.sources {
		if name != home && len(name) > len(found) && strings.HasPrefix(backend, name+".") {
			found = name
		}
	}
	if found == "" && !strings.Contains(backend, ".") {
		return home
	}
	return found
}

// setAside leaves in a fleet's endpoints those that may be published: while it is frozen, of the sources that were read. The others wait beside them, so that they are looked at
// once and not with every change of the rest (P8), and come back when there is news of these sources.
func (e *Engine) setAside(f *fleet) {
	var unread []string
	if f.frozen {
		unread = e.unreadOf(f)
	}
	if !slices.Equal(unread, f.asideFor) {
		maps.Copy(f.aside, f.endpoints) // what was compiled last is the newest
		f.endpoints, f.aside, f.asideFor = f.aside, map[string]compile.Backend{}, unread
	}
	if len(unread) == 0 {
		return
	}
	for name, b := range f.endpoints {
		if slices.Contains(unread, e.sourceOf(name)) {
			f.aside[name] = b
			delete(f.endpoints, name)
		}
	}
	if len(f.endpoints) == 0 {
		f.endpointsSeen = time.Time{} // it was of what waits
	}
}

// seat seats the endpoints of one backend, from the table that was told if one was, and else from the published one.
func seat(name string, b compile.Backend, told *adoption.Adopted, published *snapshot.Table, at snapshot.Version) (*snapshot.Table, int) {
	ready := 0
	for _, x := range b.Endpoints {
		if x.State == snapshot.Ready {
			ready++
		}
	}
	size := slots.Size(ready, b.Policy)
	prev := published
	if told != nil {
		if t := told.Table(name, size); t != nil {
			prev = t
		}
	}
	next, _, _ := slots.Assign(name, prev, b.Endpoints, b.Policy, at)
	return next, size
}

// seat assigns the slots of each backend.
func (f *fleet) seat(endpoints map[string]compile.Backend, at snapshot.Version) snapshot.GenerationDelta {
	published := f.log.Head().Generation
	if f.adopted == nil {
		return Seat(endpoints, published.Table, at)
	}
	d := snapshot.GenerationDelta{Tables: make(map[string]snapshot.TableDelta, len(endpoints))}
	for name, b := range endpoints {
		before := published.Table(name)
		next, size := seat(name, b, f.adopted, before, at)
		f.adopted.Seated(name, len(next.Slots), size)
		if delta, changed := snapshot.DiffTables(before, next); changed {
			d.Tables[name] = delta
		}
	}
	return d
}
