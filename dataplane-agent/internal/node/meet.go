package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
	"github.com/berth-proxy/berth/dataplane-agent/internal/worker"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// begin decides what is wanted first: a HAProxy that runs is met by find; else one is started from what is held.
func (n *Node) begin(ctx context.Context) {
	if n.held.Running != nil && n.held.Running.Digest() != n.held.Revision.Digest() {
		n.log.Info().Str("revision", n.held.Running.Digest().Short()).Msg("starting from the last revision that was run")
	}
	n.find(ctx, time.Now())
}

// find meets the HAProxy that runs, or asks for a start.
func (n *Node) find(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.CommandTimeout)
	defer cancel()
	id, err := haproxy.Find(ctx, n.cfg.masterSocket(), n.files.Socket())
	switch {
	case errors.Is(err, haproxy.ErrNotRunning):
		n.loaded = nil
		if n.held.Revision.Len() > 0 {
			n.reload.want(plan.Start)
		}
		return
	case err != nil:
		n.fail(fleetv1.Code_CODE_UNREACHABLE, err, n.backOff(now))
		return
	}
	if err := n.adopt(ctx, id); err != nil {
		n.letGo()
		n.fail(fleetv1.Code_CODE_UNREACHABLE, err, n.backOff(now))
		return
	}
	n.retry, n.retryDelay = time.Time{}, 0
}

// adopt takes over a worker that this agent's loop has not started: it is asked what it runs and what it has.
func (n *Node) adopt(ctx context.Context, id haproxy.Identity) error {
	info, err := n.connect(ctx, id)
	if err != nil {
		return err
	}
	if err := n.worker.ReadAll(ctx); err != nil {
		return fmt.Errorf("adopt worker %d: %w", id.PID, err)
	}
	n.loaded = nil
	for _, rev := range []*snapshot.Revision{n.held.Revision, n.held.Running} {
		if rev != nil && info.Description == render.Description(rev.StructureDigest()) {
			n.loaded = rev
			break
		}
	}
	n.log.Info().Int("worker", id.PID).Bool("known", n.loaded != nil).Msg("a running HAProxy is taken over")
	n.everythingStale()
	if n.loaded == nil {
		if n.held.Revision.Len() > 0 {
			n.reload.want(plan.Repair)
		}
		return nil
	}
	n.by, n.reason = fleetv1.By_BY_RUNTIME, plan.None
	n.runs(n.loaded)
	return n.checkMaps(ctx)
}

// checkMaps compares the maps of an adopted worker with its revision, and writes those anew that differ.
func (n *Node) checkMaps(ctx context.Context) error {
	for m := range snapshot.Of[*snapshot.Map](n.loaded, snapshot.KindMap) {
		same, err := n.worker.CheckMap(ctx, m.Name, n.loaded.Entries(m.Name))
		if err == nil && !same {
			err = n.worker.ReplaceMap(ctx, m.Name, n.loaded.Entries(m.Name))
		}
		switch {
		case errors.Is(err, worker.ErrNotVisible), errors.Is(err, haproxy.ErrRefused):
			n.reload.want(plan.Repair)
		case err != nil:
			return err
		}
	}
	return nil
}

// connect opens the connection to a worker and closes the one before (NODE-4).
func (n *Node) connect(ctx context.Context, id haproxy.Identity) (haproxy.Info, error) {
	conn, err := haproxy.DialRuntime(ctx, n.files.Socket())
	if err != nil {
		return haproxy.Info{}, fmt.Errorf("connect to worker %d: %w", id.PID, err)
	}
	info, err := conn.Info(ctx)
	if err == nil && info.PID != id.PID {
		err = fmt.Errorf("the worker is %d: %w", info.PID, haproxy.ErrStopping)
	}
	if err != nil {
		_ = conn.Close()
		return info, fmt.Errorf("connect to worker %d: %w", id.PID, err)
	}
	n.letGo()
	n.worker = worker.New(conn, id)
	return info, nil
}

// everythingStale has every table compared with what the worker was read to have.
func (n *Node) everythingStale() {
	for t := range n.held.Generation.All() {
		n.stale[t.Backend] = struct{}{}
	}
	clear(n.missing)
	n.applied = wire.Marks{}
}

// meet brings a new worker to the newest tables as soon as it serves (NODE-2): first what has changed since its configuration was written, of which
// its tables are known, then everything is read back.
func (n *Node) meet(ctx context.Context, t *task, r taskResult) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.CommandTimeout)
	defer cancel()
	now := time.Now()
	if _, err := n.connect(ctx, r.worker); err != nil {
		n.letGo()
		n.lost(now, err)
		return
	}
	n.by, n.reason = fleetv1.By_BY_RELOAD, t.reason
	n.runs(t.revision)
	first := n.assume(t, r.rendered)
	if _, err := n.worker.Apply(ctx, first, nil); err != nil {
		n.lost(now, err)
		return
	}
	window := time.Since(now)
	if err := n.worker.ReadAll(ctx); err != nil {
		n.lost(now, err)
		return
	}
	n.probe(ctx)
	n.everythingStale()
	n.metrics.reapplied(window)
	n.filesBehind = now
	if err := n.certs.Prune(n.loaded, n.held.Revision); err != nil {
		n.log.Warn().Err(err).Msg("unused certificates stay on the disk")
	}
}

// assume notes what the new worker's configuration said, and returns the tables that are otherwise by now.
func (n *Node) assume(t *task, rendered *snapshot.Generation) []worker.Table {
	var out []worker.Table
	for table := range rendered.All() {
		b := n.loaded.Backend(table.Backend)
		if b == nil {
			continue
		}
		_, changed := t.touched[table.Backend]
		if !changed && !drains(table) {
			continue
		}
		n.worker.Assume(table.Backend, table.Slots)
		if held := n.held.Generation.Table(table.Backend); held != nil {
			out = append(out, worker.Table{Backend: table.Backend, Slots: n.effective(held), Options: b.ServerOptions})
		}
	}
	return out
}

// drains says whether a table has slots that a configuration can only say "weight 0" of.
func drains(t *snapshot.Table) bool {
	for _, s := range t.Slots {
		if s.State == snapshot.Drain {
			return true
		}
	}
	return false
}

// probe finds out what a new worker can do, once for each worker.
func (n *Node) probe(ctx context.Context) {
	c, err := n.worker.Probe(ctx, render.ProbeBackend)
	if err != nil {
		n.log.Warn().Err(err).Int("worker", n.worker.Process.PID).Msg("cannot find out what the worker can do; it is taken to add no servers")
	}
	n.capabilities = c
	n.worker.CanAdd = n.cfg.AddServers && c.AddServer
}

// lost lets go of a worker that cannot be asked. While a task is under way its end brings the next worker; else the loop looks for the one that runs.
func (n *Node) lost(now time.Time, err error) {
	n.letGo()
	n.everythingStale()
	if n.task != nil {
		return
	}
	if errors.Is(err, haproxy.ErrStopping) {
		n.log.Info().Err(err).Msg("the worker is leaving; looking for the new one")
		n.retry = time.Time{}
		return
	}
	n.fail(fleetv1.Code_CODE_UNREACHABLE, err, n.backOff(now))
}

// look notices a worker that this agent did not start, counts the old ones, and reads everything back now and then.
func (n *Node) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.CommandTimeout)
	defer cancel()
	if n.task == nil {
		haproxy.TrimLog(n.cfg.Settings.StateDir)
	}
	if n.process != nil && n.process.Ended() {
		n.log.Error().Int("master", n.process.PID()).Msg("HAProxy has ended")
		n.process = nil
		n.lost(time.Now(), haproxy.ErrNotRunning)
		n.retry = time.Time{}
	}
	if n.task != nil || n.worker == nil {
		return
	}
	now := time.Now()
	state, err := haproxy.Look(ctx, n.cfg.masterSocket(), n.worker.Process)
	switch {
	case errors.Is(err, haproxy.ErrConnection):
		return // the next look may tell
	case err != nil || !state.Current:
		n.observed.restarts++
		n.metrics.restart()
		n.log.Warn().Err(err).Int("worker", n.worker.Process.PID).Msg("the worker is no longer the one that takes traffic")
		n.letGo()
		n.everythingStale()
		n.retry = time.Time{}
	case now.Sub(n.verified) >= n.cfg.Verify:
		n.verified = now
		n.verify(ctx)
	}
	if err == nil {
		n.observed.oldWorkers = state.OldWorkers
	}
	n.tellObserved()
}

// verify reads the worker back and repairs what somebody else has changed.
func (n *Node) verify(ctx context.Context) {
	if len(n.stale) > 0 || n.loaded == nil {
		return
	}
	if err := n.worker.ReadAll(ctx); err != nil {
		n.lost(time.Now(), err)
		return
	}
	drifted := 0
	for t := range n.held.Generation.All() {
		if n.loaded.Backend(t.Backend) == nil {
			continue
		}
		if len(plan.Different(n.worker.Backends()[t.Backend], n.effective(t))) > 0 && n.missing[t.Backend] == 0 {
			n.stale[t.Backend] = struct{}{}
			drifted++
		}
	}
	if drifted > 0 {
		n.observed.drifts += uint64(drifted)
		n.metrics.drift(drifted)
		n.log.Warn().Int("backends", drifted).Msg("the worker was changed by somebody else; it is repaired")
	}
}

func (n *Node) tellObserved() {
	o := &fleetv1.Observed{
		Worker: n.workerProto(), OldWorkers: uint32(n.observed.oldWorkers), Reloads: n.observed.reloads, Drifts: n.observed.drifts, //nolint:gosec // A small count.
		WorkerRestarts: n.observed.restarts, Dirty: n.dirty(),
	}
	n.metrics.oldWorkers(n.observed.oldWorkers)
	if told := n.told; told == nil || told.GetWorker().GetPid() != o.GetWorker().GetPid() || told.GetOldWorkers() != o.GetOldWorkers() ||
		told.GetReloads() != o.GetReloads() || told.GetDrifts() != o.GetDrifts() || told.GetWorkerRestarts() != o.GetWorkerRestarts() || told.GetDirty() != o.GetDirty() {
		n.told = o
		n.box.Observed(o)
	}
}
