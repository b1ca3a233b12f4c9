package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
	"github.com/berth-proxy/berth/dataplane-agent/internal/worker"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// seek looks for the worker that runs, when none is known.
func (n *Node) seek(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.CommandTimeout)
	defer cancel()
	n.workerSeen.at = now.Add(n.cfg.Watch) // if nothing else is found out
	switch {
	case n.task == nil || n.task.reason == plan.None:
		n.find(ctx, now)
	case n.task.reason == plan.Start:
	case n.task.previous == n.last && n.last.Alive() && !n.task.replaced:
		n.rejoin(ctx, now)
	default:
		n.overtake(ctx, now)
	}
}

// overtake meets a worker while a reload is under way that has replaced the one before: most likely the reload's own, of which the task is about to
// tell. But somebody else may have come in between, and a master that is busy with another reload forgets ours.
func (n *Node) overtake(ctx context.Context, now time.Time) {
	before := n.last
	if n.find(ctx, now); n.worker != nil && n.last != before {
		n.task.overtaken = now
	}
}

// findWithin is how long one search for the worker may take: the loop has other things to do.
const findWithin = time.Second

// find meets the HAProxy that runs, or notes that none does.
func (n *Node) find(ctx context.Context, now time.Time) {
	brief, cancel := context.WithTimeout(ctx, findWithin)
	id, err := haproxy.Find(brief, n.cfg.masterSocket(), n.files.Socket())
	cancel()
	if errors.Is(err, haproxy.ErrNotRunning) && !n.lives() && (n.down || !n.foundMaster()) {
		n.notRunning(now)
		return
	}
	if err == nil {
		err = n.adopt(ctx, now, id)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return // the agent ends
	}
	if err != nil {
		n.letGo()
		n.place.refused = errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
		n.fail(aboutWorker, fleetv1.Code_CODE_UNREACHABLE, err, n.workerSeen.failed(now))
		return
	}
	n.workerSeen.reset()
	n.mended(aboutWorker)
}

// notRunning notes that there is no HAProxy. One that died soon after its start is started again after a pause.
func (n *Node) notRunning(now time.Time) {
	if n.down {
		return
	}
	n.down, n.loaded, n.repair = true, nil, plan.None
	n.leftover = (n.held.Revision.Len() == 0 || n.unsure.damaged) && n.files.Ours() && !n.journal.Foreign()
	n.mended(aboutWorker)
	if !n.started.IsZero() && now.Sub(n.started) < steady {
		n.reload.failed(now, slowest)
	}
	n.started = time.Time{}
}

// rejoin connects to the worker that a reload is to replace, if the connection to it broke: it takes the changes until the new one serves.
func (n *Node) rejoin(ctx context.Context, now time.Time) {
	_, err := n.connect(ctx, n.last)
	if err == nil {
		if err = n.worker.ReadAll(ctx); err != nil {
			n.letGo()
		}
	}
	switch {
	case errors.Is(err, haproxy.ErrStopping):
		n.task.replaced = true
		return
	case err != nil:
		n.workerSeen.failed(now)
		return
	}
	n.worker.CanAdd = n.cfg.AddServers && n.haproxy.capabilities.AddServer && n.loaded != nil
	n.workerSeen.reset()
	n.mended(aboutWorker)
}

// adopt takes over a worker that this agent's loop has not started: it is asked what it runs and what it has.
func (n *Node) adopt(ctx context.Context, now time.Time, id haproxy.Identity) error {
	info, err := n.connect(ctx, id)
	if err != nil {
		return err
	}
	if err := n.worker.ReadAll(ctx); err != nil {
		return fmt.Errorf("adopt worker %d: %w", id.PID, err)
	}
	n.probe(ctx)
	n.met(now, id)
	n.described = info.Description
	var settings bool
	if n.loaded, settings = n.knows(info.Description); n.loaded != nil {
		n.by, n.reason = fleetv1.By_BY_RUNTIME, plan.None
		if n.runs(n.loaded); !n.unsure.damaged {
			if _, err := n.repairMaps(ctx); err != nil {
				return err
			}
		}
	}
	if n.loaded != nil && !settings {
		n.log.Info().Msg("HAProxy was started for other ports or addresses than this agent; a reload brings these")
		n.repair = plan.Repair
	}
	n.moves = n.loaded == nil || !settings
	n.log.Info().Int("worker", id.PID).Bool("known", n.loaded != nil).Msg("a running HAProxy is taken over")
	n.doubt(now)
	if n.filesBehind.IsZero() {
		n.filesBehind = now // the files may be of the time before
	}
	if n.loaded == nil {
		// Its slots can be right long before a reload brings the rest, but its lines are not known, so it is given no servers.
		n.repair, n.worker.CanAdd = plan.Repair, false
	}
	return nil
}

// met notes that another worker than the last is known now, of which everything has just been read.
func (n *Node) met(now time.Time, id haproxy.Identity) {
	if !n.last.IsZero() && n.last != id && !n.reloading() {
		n.restarted()
	}
	n.last, n.verified, n.audited = id, now, now
	n.down, n.repair, n.odd, n.place.refused = false, plan.None, nil, false
	n.excepted.forget(fleetv1.Code_CODE_SLOT_REFUSED) // another worker may take them
	n.everythingStale()
}

// restarted counts a worker that was replaced without this node's doing.
func (n *Node) restarted() {
	n.observed.restarts++
	n.metrics.restart()
}

// knows is the revision that describes itself so, nil if it is none of those that this node has to do with, and says whether the worker was started with the node's present
// settings, too.
func (n *Node) knows(description string) (rev *snapshot.Revision, settings bool) {
	for _, rev := range []*snapshot.Revision{n.held.Revision, n.held.Running, n.attempted} {
		if rev != nil && rev.Len() > 0 && strings.HasPrefix(description+" ", render.Description(rev.StructureDigest())+" ") {
			return rev, description == n.files.Description(rev)
		}
	}
	return nil, false
}

// repairMaps compares the worker's maps with its revision, writes those anew that differ, and says how many did. One that cannot be written is left to
// a reload.
func (n *Node) repairMaps(ctx context.Context) (repaired int, err error) {
	for m := range snapshot.Of[*snapshot.Map](n.loaded, snapshot.KindMap) {
		same, err := n.worker.CheckMap(ctx, m.Name, n.loaded.Entries(m.Name))
		if err == nil && !same {
			repaired++
			err = n.worker.ReplaceMap(ctx, m.Name, n.loaded.Entries(m.Name))
		}
		switch {
		case errors.Is(err, haproxy.ErrNoSuchMap): // no line of the configuration uses it
		case errors.Is(err, worker.ErrNotVisible), errors.Is(err, haproxy.ErrRefused):
			n.log.Warn().Err(err).Msg("a map cannot be written at run time; a reload brings it")
			n.repair = max(n.repair, plan.Map) // what it is to be repaired for already weighs more
		case err != nil:
			return repaired, fmt.Errorf("compare map %s of worker %d: %w", m.Name, n.worker.Process.PID, err)
		}
	}
	return repaired, nil
}

// connectWithin is how long another worker may answer at the socket than the one that was found to serve: both accept for a moment.
const connectWithin = 200 * time.Millisecond

// connect opens the connection to a worker and closes the one before (NODE-4).
func (n *Node) connect(ctx context.Context, id haproxy.Identity) (haproxy.Info, error) {
	deadline := time.Now().Add(connectWithin)
	for {
		conn, err := haproxy.DialWorker(ctx, n.files.Socket(), n.cfg.masterSocket())
		if err != nil {
			return haproxy.Info{}, fmt.Errorf("connect to worker %d: %w", id.PID, err)
		}
		info, err := conn.Info(ctx)
		if err == nil && info.PID == id.PID && !info.Stopping {
			n.letGo()
			n.worker = worker.New(conn, id)
			return info, nil
		}
		_ = conn.Close()
		if err != nil {
			return info, fmt.Errorf("connect to worker %d: %w", id.PID, err)
		}
		if time.Now().After(deadline) {
			return info, fmt.Errorf("connect to worker %d: %d answers: %w", id.PID, info.PID, haproxy.ErrStopping)
		}
		select {
		case <-ctx.Done():
			return info, fmt.Errorf("connect to worker %d: %w", id.PID, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}

// everythingStale has every table compared with what the worker was read to have.
func (n *Node) everythingStale() {
	n.stale = make(map[string]struct{}, n.held.Generation.Len())
	for t := range n.held.Generation.All() {
		n.stale[t.Backend] = struct{}{}
	}
	clear(n.later)
	clear(n.missing)
	n.applied = wire.Marks{}
}

// errAnotherFile means that the master reads another configuration than the one that is written for it.
var errAnotherFile = errors.New("the new worker runs another configuration: was HAProxy started with another file?")

// meet brings a new worker to the newest tables as soon as it serves (NODE-2): first what has changed since its configuration was written, of which
// its tables are known, then everything is read back.
func (n *Node) meet(ctx context.Context, now time.Time, t *task, r taskResult) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.CommandTimeout)
	defer cancel()
	info, err := n.connect(ctx, r.worker)
	if err != nil {
		return err
	}
	n.last = r.worker // it was not replaced by others
	n.moves = false
	n.unsure = unsure{over: true}
	if info.Description != n.files.Description(t.revision) {
		n.letGo()
		return fmt.Errorf("reload with %s: %w", n.files.Config(), errAnotherFile)
	}
	n.upgraded(info.Version)
	n.by, n.reason = fleetv1.By_BY_RELOAD, t.reason
	n.runs(t.revision)
	if _, err := n.worker.Apply(ctx, n.assume(t, r.rendered), nil); err != nil {
		return fmt.Errorf("bring worker %d to the newest slots: %w", r.worker.PID, err)
	}
	n.metrics.reapplied(time.Since(now))
	if err := n.worker.ReadAll(ctx); err != nil {
		return fmt.Errorf("meet worker %d: %w", r.worker.PID, err)
	}
	n.probe(ctx)
	n.met(now, r.worker)
	n.mended(aboutWorker)
	if err := n.certs.Prune(n.loaded, n.held.Revision); err != nil {
		n.log.Warn().Err(err).Msg("unused certificates stay on the disk")
	}
	return nil
}

// upgraded notes the version of a worker that this node has started. What another version has refused this one may take.
func (n *Node) upgraded(version string) {
	if version == n.haproxy.version || version == "" {
		return
	}
	n.log.Info().Str("from", n.haproxy.version).Str("to", version).Msg("HAProxy has another version")
	n.haproxy.version = version
	n.rejected = rejections{}
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
			out = append(out, worker.Table{Backend: table.Backend, Slots: n.excepted.free(held), Options: b.ServerOptions})
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
	n.haproxy.capabilities = c
	n.worker.CanAdd = n.cfg.AddServers && c.AddServer
}

// lost lets go of a worker that cannot be asked, and has the loop look for the one that runs.
func (n *Node) lost(ctx context.Context, now time.Time, err error) {
	n.letGo()
	n.everythingStale()
	if errors.Is(ctx.Err(), context.Canceled) {
		return // the agent ends
	}
	if errors.Is(err, haproxy.ErrStopping) {
		n.log.Info().Err(err).Msg("the worker is leaving; looking for the new one")
		if n.workerSeen.at = now; n.reloading() {
			n.task.replaced = true
			n.workerSeen.at = now.Add(n.cfg.Watch) // by then the reload itself tells which one it is
		}
		return
	}
	n.fail(aboutWorker, fleetv1.Code_CODE_UNREACHABLE, err, n.workerSeen.failed(now))
}
