package engine

import (
	"maps"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/adoption"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/slots"
)

// fleet is what the engine has of one fleet.
type fleet struct {
	name string
	log  *changelog.Log

	gate    gate
	waiting string
	learning

	// What is compiled and not yet published, and when a source saw the oldest of each.
	revision                    snapshot.RevisionDelta
	endpoints                   map[string]compile.Backend
	revisionSeen, endpointsSeen time.Time

	// policies are those of the backends that have a table.
	policies map[string]slots.Policy
	// retired are the backends that have a table and left the published revision, with the first revision that is without them.
	retired map[string]snapshot.Version
}

func newFleet(name string, log *changelog.Log, a *adoption.Fleet) *fleet {
	return &fleet{
		name: name, log: log, learning: learning{adoption: a, adopting: true, compiled: map[string]compile.Backend{}, aside: map[string]compile.Backend{}},
		endpoints: map[string]compile.Backend{}, policies: map[string]slots.Policy{}, retired: map[string]snapshot.Version{},
	}
}

// note adds what was compiled to what is to be published.
func (f *fleet) note(fc compile.FleetChange) {
	if !fc.Revision.Empty() {
		f.revisionSeen = earlier(f.revisionSeen, fc.Seen)
	}
	if len(fc.Endpoints) > 0 {
		f.endpointsSeen = earlier(f.endpointsSeen, fc.Seen)
	}
	switch {
	case fc.Revision.Empty(): // the usual change; while the fleet is frozen a whole revision waits, which is not to be copied for it
	case f.revision.Empty():
		f.revision = fc.Revision
	default:
		f.revision = f.revision.Merge(fc.Revision)
	}
	maps.Copy(f.endpoints, fc.Endpoints)
	if f.adopting {
		maps.Copy(f.compiled, fc.Endpoints)
	}
}

// earlier is the earlier of two times of which a zero one is not known.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// publish publishes what is compiled, with the revision or without.
func (e *Engine) publish(f *fleet, withRevision bool, now time.Time) {
	before := f.log.Head()
	e.setAside(f)
	if len(f.endpoints) == 0 && (!withRevision || f.revision.Empty() && before.Published()) {
		return
	}
	var revision snapshot.RevisionDelta
	seen := f.endpointsSeen
	f.endpointsSeen = time.Time{}
	if withRevision {
		seen = earlier(seen, f.revisionSeen)
		revision, f.revision, f.revisionSeen = f.revision, snapshot.RevisionDelta{}, time.Time{}
	}
	at := before.NextGeneration()
	generation := f.seat(f.endpoints, at)
	e.seated(f)
	// A plane that has just started does not know that nodes reload for its revision: they may have it.
	if reloads(revision) && f.adopted == nil {
		f.shrink(before.Generation, generation, at)
	}
	head := f.log.Publish(revision, generation, seen, now)
	f.retire(revision, head.Revision.Version)
	if head.Revision != before.Revision && head.Revision.Digest() != before.Revision.Digest() {
		e.config.Log.Info().Str("fleet", f.name).Stringer("revision", head.Revision.Version).Str("digest", head.Revision.Digest().Short()).
			Int("changed", len(revision.Changes)).Msg("a new revision is published")
	}
}

// seated notes that the endpoints have been seated.
func (e *Engine) seated(f *fleet) {
	for name, b := range f.endpoints {
		f.policies[name] = b.Policy
		if len(b.Endpoints) > snapshot.MaxSlots {
			e.config.Log.Warn().Str("fleet", f.name).Str("backend", name).Int("endpoints", len(b.Endpoints)).Int("slots", snapshot.MaxSlots).
				Msg("the backend has more endpoints than a table can hold; those that came last get no traffic")
		}
	}
	clear(f.endpoints)
}

// Seat assigns the slots of each backend, from the tables so far. at is the generation that they will be.
func Seat(endpoints map[string]compile.Backend, table func(backend string) *snapshot.Table, at snapshot.Version) snapshot.GenerationDelta {
	d := snapshot.GenerationDelta{Tables: make(map[string]snapshot.TableDelta, len(endpoints))}
	for name, b := range endpoints {
		if _, delta, changed := slots.Assign(name, table(name), b.Endpoints, b.Policy, at); changed {
			d.Tables[name] = delta
		}
	}
	return d
}

// reloads says whether HAProxy has to reload for the change: map entries it takes at run time.
func reloads(d snapshot.RevisionDelta) bool {
	for k := range d.Changes {
		if k.Kind != snapshot.KindMapEntry {
			return true
		}
	}
	return false
}

// shrink adds to the step the tables that are far too long, those aside that change in it anyway (ENG-5).
func (f *fleet) shrink(g *snapshot.Generation, step snapshot.GenerationDelta, at snapshot.Version) {
	for t := range g.All() {
		if _, changes := step.Tables[t.Backend]; changes {
			continue
		}
		if _, delta, changed := slots.Shrink(t, f.policies[t.Backend], at); changed {
			step.Tables[t.Backend] = delta
		}
	}
}

// retire notes which backends a published revision took away or brought back.
func (f *fleet) retire(d snapshot.RevisionDelta, version snapshot.Version) {
	for k, r := range d.Changes {
		switch {
		case k.Kind != snapshot.KindBackend:
		case r != nil:
			delete(f.retired, k.Name)
		default:
			f.retired[k.Name] = version
		}
	}
}

// release lets go of the tables of retired backends that no node has any longer (ENG-3).
func (e *Engine) release(f *fleet, now time.Time) {
	if len(f.retired) == 0 {
		return
	}
	oldest, behind := e.oldest(f)
	gone := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{}}
	var names []string
	for name, since := range f.retired {
		if behind && oldest.Compare(since) < 0 {
			continue
		}
		names = append(names, name)
		delete(f.retired, name)
		delete(f.policies, name)
		delete(f.compiled, name) // until a node comes, which may be days
		if f.log.Head().Generation.Table(name) != nil {
			gone.Tables[name] = snapshot.TableDelta{Removed: true}
		}
	}
	if len(names) == 0 {
		return
	}
	e.config.Compiler.Release(f.name, names)
	f.log.Publish(snapshot.RevisionDelta{}, gone, time.Time{}, now)
}

// oldest is the oldest revision that a node runs or holds, other than the newest; one that this plane does not know counts as older than all.
// behind is false when all nodes have the newest.
func (e *Engine) oldest(f *fleet) (oldest snapshot.Version, behind bool) {
	newest := f.log.Head().Revision.Digest()
	for _, m := range e.config.Nodes.InUse(f.name) {
		if m.Digest == newest || m.Digest.IsZero() {
			continue
		}
		v := m.Version
		if !f.log.KnowsRevision(m.Digest) {
			v = snapshot.Version{}
		}
		if !behind || v.Compare(oldest) < 0 {
			oldest, behind = v, true
		}
	}
	return oldest, behind
}
