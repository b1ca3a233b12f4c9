package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
	"github.com/berth-proxy/berth/dataplane-agent/internal/worker"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// batchSize is the most backends of one batch. After each the loop hears what is new, so that a fleet's worth of tables keeps no update waiting.
const batchSize = 512

// converge goes as far as one turn allows from what the worker has to what is held.
func (n *Node) converge(ctx context.Context) {
	now := time.Now()
	if n.worker == nil && n.workerSeen.ready(now) {
		n.seek(ctx, now)
	}
	sure := !n.unsure.now(now)
	if n.worker != nil && sure {
		n.applyTables(ctx, now)
	}
	if n.worker != nil && sure && len(n.stale) == 0 {
		n.applyMaps(ctx, now)
	}
	if n.task == nil {
		n.startTask(ctx, now)
	}
	n.tellApplied()
}

// applyTables writes a batch of the tables that are not known to be as wanted.
func (n *Node) applyTables(ctx context.Context, now time.Time) {
	if len(n.later) > 0 && n.tablesAgain.ready(now) {
		for backend := range n.later {
			n.stale[backend] = struct{}{}
		}
		clear(n.later)
	}
	if len(n.stale) == 0 {
		return
	}
	if tables := n.tables(batchSize); len(tables) > 0 {
		out, err := n.apply(ctx, tables, nil)
		if err != nil {
			n.lost(ctx, now, err)
			return
		}
		n.noteOutcome(now, tables, out)
	}
	if len(n.stale) == 0 && len(n.later) == 0 {
		n.tablesAgain.reset()
		n.mended(aboutSlots)
	}
}

func (n *Node) apply(ctx context.Context, tables []worker.Table, maps []plan.MapChange) (worker.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.CommandTimeout)
	defer cancel()
	return n.worker.Apply(ctx, tables, maps)
}

// tables returns up to limit of the stale tables that the worker can be given, and forgets those that it has no backend for: it gets them with the
// reload that brings the backend.
func (n *Node) tables(limit int) []worker.Table {
	var out []worker.Table
	for backend := range n.stale {
		t := n.held.Generation.Table(backend)
		b := n.backend(backend)
		if t == nil || b == nil {
			delete(n.stale, backend)
			delete(n.missing, backend)
			continue
		}
		out = append(out, worker.Table{Backend: backend, Slots: n.excepted.free(t), Options: b.ServerOptions})
		if len(out) == limit {
			break
		}
	}
	return out
}

// backend is the backend that the worker runs under that name, nil if none. A worker whose revision is not known, such as one that was started from an old
// file, is taken to have those that are held: their slots are right long before a reload brings the rest.
func (n *Node) backend(name string) *snapshot.Backend {
	if n.loaded == nil {
		return n.held.Revision.Backend(name)
	}
	return n.loaded.Backend(name)
}

// noteOutcome takes what was read back off the stale tables.
func (n *Node) noteOutcome(now time.Time, tables []worker.Table, out worker.Outcome) {
	if len(out.Absent) > 0 && n.loaded != nil && n.repair == plan.None {
		// The worker does not run what it is believed to: its configuration is to be brought to it again.
		n.log.Warn().Strs("backends", out.Absent[:min(3, len(out.Absent))]).Msg("the worker lacks backends of its revision")
		n.repair = plan.Repair
	}
	for s, message := range out.Refused {
		if t := n.held.Generation.Table(s.Backend); t != nil && s.Index < len(t.Slots) {
			n.except(s.Backend, s.Index, exception{t.Slots[s.Index], fleetv1.Code_CODE_SLOT_REFUSED, message})
		}
	}
	for _, t := range tables {
		delete(n.stale, t.Backend)
		delete(n.missing, t.Backend)
	}
	for backend, missing := range out.Missing {
		n.missing[backend] = missing
	}
	for _, backend := range out.Different {
		n.later[backend] = struct{}{}
	}
	if len(out.Different) > 0 {
		n.fail(aboutSlots, fleetv1.Code_CODE_NOT_VISIBLE, notVisible(out.Different), n.tablesAgain.failed(now))
	}
	if len(n.stale) == 0 {
		n.stale = map[string]struct{}{} // walking through a map costs what it once held
	}
}

// except notes that a slot is refused.
func (n *Node) except(backend string, index int, e exception) {
	if n.excepted.add(backend, index, e) {
		n.log.Warn().Str("backend", backend).Int("slot", index+1).Str("endpoint", e.slot.Endpoint).Str("reason", e.message).Msg("a slot cannot be applied")
	}
}

// exceptOwn notes which slots of a table are listeners of this HAProxy (NODE-7).
func (n *Node) exceptOwn(t *snapshot.Table) {
	for i, s := range t.Slots {
		n.exceptIfOwn(t.Backend, i, s)
	}
}

// exceptOwnOf is exceptOwn for what has changed of a table, which is nil if it is gone.
func (n *Node) exceptOwnOf(t *snapshot.Table, backend string, d snapshot.TableDelta) {
	n.excepted.settle(backend, t)
	if t == nil {
		return
	}
	for i := range d.Slots {
		if i < len(t.Slots) {
			n.exceptIfOwn(backend, i, t.Slots[i])
		}
	}
}

func (n *Node) exceptIfOwn(backend string, index int, s snapshot.Slot) {
	if s.State != snapshot.Free && n.listeners.Contains(s.Server()) {
		n.except(backend, index, exception{s, fleetv1.Code_CODE_OWN_LISTENER, s.Server().String() + " is a listener of this HAProxy; the slot stays free"})
	}
}

// rendering is the generation as a configuration may say it: without own listeners. What HAProxy refused at run time it may take at its start.
func (n *Node) rendering() *snapshot.Generation {
	return n.excepted.without(fleetv1.Code_CODE_OWN_LISTENER, n.held.Generation)
}

// planned is how the worker is led from the loaded revision to the held one.
type planned struct {
	// done says that reason and maps belong to the delta.
	done   bool
	reason plan.Reason
	maps   []plan.MapChange
}

// plan looks at the delta once: while a reload for it is under way, no endpoint change pays for its size.
func (n *Node) plan() planned {
	if !n.planned.done {
		n.planned = planned{done: true}
		n.planned.reason, n.planned.maps = plan.Revision(n.loaded, n.delta)
	}
	return n.planned
}

// wantsHeld says whether the worker is to be led from the loaded revision to the held one.
func (n *Node) wantsHeld() bool {
	return n.loaded != nil && n.loaded != n.held.Revision && !n.incomplete && !n.rejected.has(n.held.Revision.Digest())
}

// applyMaps brings the revision to the worker if no more than entries of maps differ.
func (n *Node) applyMaps(ctx context.Context, now time.Time) {
	if !n.wantsHeld() || n.repair != plan.None || n.plan().reason != plan.None {
		return
	}
	out, err := n.apply(ctx, nil, n.plan().maps)
	for _, name := range out.Maps {
		if err != nil {
			break
		}
		if err = n.replaceMap(ctx, name, n.held.Revision); errors.Is(err, haproxy.ErrNoSuchMap) {
			err = nil // no line of the configuration uses it
			continue
		}
		n.log.Warn().Str("map", name).Msg("the worker did not show what was written; the whole map was written anew")
	}
	switch {
	case errors.Is(err, worker.ErrNotVisible), errors.Is(err, haproxy.ErrRefused):
		n.log.Warn().Err(err).Msg("a map cannot be changed at run time; a reload brings it")
		n.repair = plan.Map
	case err != nil:
		n.lost(ctx, now, err)
	default:
		n.by, n.reason = fleetv1.By_BY_RUNTIME, plan.None
		n.runs(n.held.Revision)
	}
}

func (n *Node) replaceMap(ctx context.Context, name string, rev *snapshot.Revision) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.CommandTimeout)
	defer cancel()
	return n.worker.ReplaceMap(ctx, name, rev.Entries(name))
}

// runs notes the revision that the worker has.
func (n *Node) runs(rev *snapshot.Revision) {
	n.loaded = rev
	n.planned = planned{}
	if rev == n.held.Revision {
		n.delta = snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{}}
	} else {
		n.delta = snapshot.DiffRevisions(rev, n.held.Revision)
	}
	if n.held.Running == nil || n.held.Running.Digest() != rev.Digest() {
		n.held.Running = rev
		if rev.Digest() == n.held.Revision.Digest() {
			n.journal.Running(n.held)
		} else {
			n.journal.Replace(n.held)
		}
	}
}

// need says why a new worker is needed now, by the weightiest reason; None if it is not, or if there is nothing that it could run. It costs the
// same whatever is held, once the held revision was looked at.
func (n *Node) need() plan.Reason {
	reason := plan.None
	because := func(r plan.Reason) {
		if r != plan.None && (reason == plan.None || r < reason) {
			reason = r
		}
	}
	switch {
	case n.down:
		because(plan.Start)
	case n.incomplete, n.unsure.now(time.Now()): // what runs is better than what is held
	default:
		because(n.repair)
		if n.wantsHeld() {
			because(n.plan().reason)
		}
		if len(n.missing) > 0 {
			because(plan.Slots)
		}
	}
	if reason != plan.None && n.next(reason) == nil && !(reason == plan.Start && n.leftover) {
		return plan.None
	}
	return reason
}

// next is the revision that a start or reload is to bring: the newest, but the last good one if that is refused, and for a start the one that a worker has
// run before: it is known to be good, and the newest is tried once HAProxy runs.
func (n *Node) next(reason plan.Reason) *snapshot.Revision {
	candidates := [...]*snapshot.Revision{n.held.Revision, n.loaded, n.held.Running}
	if reason == plan.Start && !n.incomplete {
		candidates = [...]*snapshot.Revision{n.held.Running, n.held.Revision, nil}
	}
	for _, rev := range candidates {
		if rev != nil && rev.Len() > 0 && !n.rejected.has(rev.Digest()) {
			return rev
		}
	}
	return nil
}

// notVisible says that a worker took a change and does not show it.
func notVisible(backends []string) error {
	return fmt.Errorf("the worker does not show what was written to %d backends, %q among them", len(backends), backends[:min(3, len(backends))])
}
