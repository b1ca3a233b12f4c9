package node

import (
	"context"
	"errors"
	"sort"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
	"github.com/berth-proxy/berth/dataplane-agent/internal/worker"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// batchSize is the most backends of one batch, so that a whole fleet's tables are written in parts and a new update is not kept waiting long.
const batchSize = 512

// converge goes as far as is possible now from what the worker has to what is held.
func (n *Node) converge(ctx context.Context) {
	now := time.Now()
	if !n.retry.IsZero() && now.Before(n.retry) && n.worker == nil {
		return // what could not be done is not tried at every event
	}
	if n.worker == nil && n.task == nil {
		n.find(ctx, now)
	}
	if n.worker != nil {
		n.applyTables(ctx, now)
		n.applyMaps(ctx)
	}
	if n.task == nil {
		n.startTask(ctx, time.Now())
	}
	n.tellApplied()
}

// applyTables writes the tables that are not known to be as wanted.
func (n *Node) applyTables(ctx context.Context, now time.Time) {
	for len(n.stale) > 0 && n.worker != nil {
		if !n.retry.IsZero() && now.Before(n.retry) {
			return
		}
		tables := n.tables(batchSize)
		if len(tables) == 0 {
			return
		}
		out, err := n.apply(ctx, tables, nil)
		if err != nil {
			n.lost(now, err)
			return
		}
		if n.noteOutcome(tables, out); len(out.Different) > 0 {
			n.fail(fleetv1.Code_CODE_NOT_VISIBLE, notVisible(out.Different), n.backOff(now))
			return
		}
		n.retry, n.retryDelay = time.Time{}, 0
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
		out = append(out, worker.Table{Backend: backend, Slots: n.effective(t), Options: b.ServerOptions})
		if len(out) == limit {
			break
		}
	}
	return out
}

// backend is the backend that the worker runs under that name, nil if none.
func (n *Node) backend(name string) *snapshot.Backend {
	if n.loaded == nil {
		return nil
	}
	return n.loaded.Backend(name)
}

// effective is the table without the slots that are refused: own listeners at once (NODE-7), and those that HAProxy refused while they are wanted unchanged.
func (n *Node) effective(t *snapshot.Table) []snapshot.Slot {
	slots := t.Slots
	var own []snapshot.Slot
	except := func(i int) {
		if own == nil {
			own = append(own, slots...)
		}
		own[i] = snapshot.Slot{}
	}
	for i, s := range slots {
		name := worker.Slot{Backend: t.Backend, Index: i}
		if s.State == snapshot.Free {
			continue
		}
		if n.listeners.Contains(s.Server()) {
			n.except(name, s, fleetv1.Code_CODE_OWN_LISTENER, s.Server().String()+" is a listener of this HAProxy; the slot stays free")
			except(i)
		} else if e, ok := n.excepted[name]; ok && e.slot == s {
			except(i)
		}
	}
	if own != nil {
		return own
	}
	return slots
}

func (n *Node) except(name worker.Slot, s snapshot.Slot, code fleetv1.Code, message string) {
	if e, ok := n.excepted[name]; ok && e.slot == s {
		return
	}
	n.excepted[name] = exception{s, code, message}
	n.log.Warn().Str("backend", name.Backend).Int("slot", name.Index+1).Str("endpoint", s.Endpoint).Str("reason", message).
		Msg("a slot cannot be applied")
}

// noteOutcome takes what was read back off the stale tables.
func (n *Node) noteOutcome(tables []worker.Table, out worker.Outcome) {
	if len(out.Absent) > 0 {
		// The worker does not run what it is believed to: its configuration is to be brought to it again.
		n.log.Warn().Strs("backends", out.Absent[:min(3, len(out.Absent))]).Msg("the worker lacks backends of its revision")
		n.reload.want(plan.Repair)
	}
	absent := map[string]bool{}
	for _, b := range out.Absent {
		absent[b] = true
	}
	for s, message := range out.Refused {
		if t := n.held.Generation.Table(s.Backend); t != nil && s.Index < len(t.Slots) {
			n.except(s, t.Slots[s.Index], fleetv1.Code_CODE_SLOT_REFUSED, message)
		}
	}
	different := map[string]bool{}
	for _, b := range out.Different {
		different[b] = true
	}
	for _, t := range tables {
		if missing := out.Missing[t.Backend]; missing > 0 {
			n.missing[t.Backend] = missing
		} else if absent[t.Backend] {
			n.missing[t.Backend] = len(t.Slots)
		} else {
			delete(n.missing, t.Backend)
		}
		if !different[t.Backend] {
			delete(n.stale, t.Backend)
		}
		n.dropExceptions(t)
	}
	if len(n.missing) > 0 {
		n.reload.want(plan.Slots)
	}
	if n.filesBehind.IsZero() {
		n.filesBehind = time.Now()
	}
}

// dropExceptions forgets exceptions about what is no longer wanted.
func (n *Node) dropExceptions(t worker.Table) {
	if len(n.excepted) == 0 {
		return
	}
	held := n.held.Generation.Table(t.Backend)
	for name, e := range n.excepted {
		if name.Backend == t.Backend && (held == nil || name.Index >= len(held.Slots) || held.Slots[name.Index] != e.slot) {
			delete(n.excepted, name)
		}
	}
}

// applyMaps brings the revision to the worker if only entries of maps differ, else asks for a reload.
func (n *Node) applyMaps(ctx context.Context) {
	if n.loaded == nil || n.delta.Empty() || n.rejected[n.held.Revision.Digest()] != nil {
		return
	}
	reason, changes := plan.Revision(n.loaded, n.delta)
	if reason != plan.None {
		n.reload.want(reason)
		return
	}
	now := time.Now()
	if !n.retry.IsZero() && now.Before(n.retry) {
		return
	}
	out, err := n.apply(ctx, nil, changes)
	for _, name := range out.Maps {
		if err != nil {
			break
		}
		n.log.Warn().Str("map", name).Msg("the worker does not show what was written; the whole map is written anew")
		err = n.replaceMap(ctx, name)
	}
	switch {
	case errors.Is(err, worker.ErrNotVisible), errors.Is(err, haproxy.ErrRefused):
		n.reload.want(plan.Map)
		return
	case err != nil:
		n.lost(now, err)
		return
	}
	n.by, n.reason = fleetv1.By_BY_RUNTIME, plan.None
	n.runs(n.held.Revision)
	if n.filesBehind.IsZero() {
		n.filesBehind = now
	}
}

func (n *Node) replaceMap(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.CommandTimeout)
	defer cancel()
	return n.worker.ReplaceMap(ctx, name, n.held.Revision.Entries(name))
}

// runs notes the revision that the worker has.
func (n *Node) runs(rev *snapshot.Revision) {
	n.loaded = rev
	n.delta = snapshot.RevisionDelta{}
	if rev != n.held.Revision {
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

// tellApplied reports what was read back, if it is news (NODE-3).
func (n *Node) tellApplied() {
	if n.worker == nil {
		return
	}
	now := n.applied
	if n.loaded != nil {
		now.Revision = wire.Mark{Version: n.loaded.Version, Digest: n.loaded.Digest()}
	}
	if len(n.stale) == 0 && len(n.missing) == 0 && n.loaded != nil {
		now.Generation = wire.Mark{Version: n.held.Generation.Version, Digest: n.held.Generation.Digest()}
	}
	if now == n.applied {
		return
	}
	a := &fleetv1.Applied{
		Applied: now.Proto(), Worker: n.workerProto(), By: fleetv1.By_BY_RUNTIME, Excepted: n.exceptedProto(),
		Haproxy: &fleetv1.HAProxy{Version: n.haproxyVersion, Capabilities: capabilities(n.capabilities, n.cfg.AddServers)},
	}
	var waited pending
	if now.Generation != n.applied.Generation {
		waited, n.fast = n.fast, pending{}
	}
	if now.Revision != n.applied.Revision {
		a.By, a.Reason = n.by, reasons[n.reason]
		waited, n.slow = waited.older(n.slow), pending{}
	}
	if !waited.since.IsZero() {
		a.Took = duration(time.Since(waited.since))
	}
	if !waited.seen.IsZero() {
		a.Seen = timestamppb.New(waited.seen)
	}
	n.applied = now
	if now.Same(wire.MarksOf(n.held.Revision, n.held.Generation)) {
		n.mended()
	}
	n.box.Applied(a)
}

func (n *Node) exceptedProto() []*fleetv1.ExceptedSlot {
	var out []*fleetv1.ExceptedSlot
	for s, e := range n.excepted {
		out = append(out, &fleetv1.ExceptedSlot{Backend: s.Backend, Slot: uint32(s.Index + 1), Code: e.code, Message: wire.Text(e.message)}) //nolint:gosec // An index.
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].GetBackend() != out[j].GetBackend() {
			return out[i].GetBackend() < out[j].GetBackend()
		}
		return out[i].GetSlot() < out[j].GetSlot()
	})
	return out[:min(len(out), wire.MaxExcepted)]
}
