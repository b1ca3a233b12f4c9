package node

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/disk"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// task is the one thing that goes on beside the loop: a reload, a start, or a writing of files. Its goroutine reads the newest generation and nothing else
// of the node.
type task struct {
	cancel context.CancelFunc
	// reason is None for a mere writing of files.
	reason   plan.Reason
	revision *snapshot.Revision
	checked  bool
	previous haproxy.Identity
	// newest is the generation that a configuration is rendered with: the newest at that moment, not at the task's start (P1).
	newest atomic.Pointer[snapshot.Generation]
	// touched are the backends whose tables have changed since the task began. The loop's alone.
	touched map[string]struct{}
	started time.Time
}

// taskResult is what a task has come to.
type taskResult struct {
	err  error
	code fleetv1.Code
	// rendered is the generation that the configuration in force was written with.
	rendered *snapshot.Generation
	worker   haproxy.Identity
	// process is the master that was started, if one was.
	process *haproxy.Process
	// refused says that HAProxy refused the revision.
	refused bool
}

// changed notes that tables change while the task is under way.
func (t *task) changed(d snapshot.GenerationDelta) {
	for b := range d.Tables {
		t.touched[b] = struct{}{}
	}
}

// startTask begins the task that is due, if one is.
func (n *Node) startTask(ctx context.Context, now time.Time) {
	switch {
	case n.reload.ready(now):
		rev := n.next()
		if rev == nil {
			n.reload.begun() // there is nothing to run: the next update asks again
			return
		}
		if n.reload.reason != plan.Start && n.countOld(ctx) >= n.cfg.MaxOldWorkers {
			n.reload.wait(now.Add(n.cfg.Watch)) // NODE-6
			return
		}
		checked := n.loaded != nil && rev.StructureDigest() == n.loaded.StructureDigest()
		n.launch(ctx, &task{reason: n.reload.begun(), revision: rev, checked: checked})
	case !n.filesBehind.IsZero() && now.Sub(n.filesBehind) >= n.cfg.RefreshFiles && n.loaded != nil:
		n.launch(ctx, &task{reason: plan.None, revision: n.loaded})
		n.filesBehind = time.Time{}
	}
}

// next is the revision that a start or reload is to bring: the newest, but the last good one if that is refused, and for a start the one that a worker has
// run before: it is known to be good, and the newest is tried once HAProxy runs.
func (n *Node) next() *snapshot.Revision {
	candidates := []*snapshot.Revision{n.held.Revision, n.loaded, n.held.Running}
	if n.reload.reason == plan.Start {
		candidates = []*snapshot.Revision{n.held.Running, n.held.Revision}
	}
	for _, rev := range candidates {
		if rev != nil && rev.Len() > 0 && n.rejected[rev.Digest()] == nil {
			return rev
		}
	}
	return nil
}

// countOld asks the master how many leaving workers there are.
func (n *Node) countOld(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.CommandTimeout)
	defer cancel()
	if n.worker != nil {
		if state, err := haproxy.Look(ctx, n.cfg.masterSocket(), n.worker.Process); err == nil {
			n.observed.oldWorkers = state.OldWorkers
		}
	}
	return n.observed.oldWorkers
}

func (n *Node) launch(ctx context.Context, t *task) {
	ctx, t.cancel = context.WithTimeout(ctx, n.cfg.ReloadTimeout)
	t.started, t.touched = time.Now(), map[string]struct{}{}
	if n.worker != nil {
		t.previous = n.worker.Process
	}
	t.newest.Store(n.held.Generation)
	n.task = t
	go func() {
		defer t.cancel()
		n.done <- n.perform(ctx, t)
	}()
}

// perform runs in the task's goroutine.
func (n *Node) perform(ctx context.Context, t *task) taskResult {
	if t.reason == plan.None {
		gen := t.newest.Load()
		return failed(n.files.Write(t.revision, gen))
	}
	if !t.checked {
		if r := n.check(ctx, t); r.err != nil {
			return r
		}
	}
	gen := t.newest.Load()
	if err := n.files.Write(t.revision, gen); err != nil {
		return failed(err)
	}
	r := taskResult{rendered: gen, code: fleetv1.Code_CODE_OK}
	if t.reason == plan.Start {
		r.process, r.worker, r.err = n.start(ctx)
	} else {
		r.worker, r.err = n.reloadMaster(ctx, t.previous)
	}
	if r.err != nil {
		r.code = haproxyCode(r.err)
		r.refused = errors.Is(r.err, haproxy.ErrRejected)
	}
	return r
}

// check renders the revision beside what is in force and lets HAProxy judge it.
func (n *Node) check(ctx context.Context, t *task) taskResult {
	path, err := n.files.WriteCandidate(t.revision, t.newest.Load())
	if err != nil {
		r := failed(err)
		r.refused = !errors.Is(err, disk.ErrWrite)
		return r
	}
	if err := haproxy.Check(ctx, n.cfg.HAProxy, path); err != nil {
		return taskResult{err: err, code: haproxyCode(err), refused: errors.Is(err, haproxy.ErrRejected)}
	}
	return taskResult{}
}

func failed(err error) taskResult {
	switch {
	case err == nil:
		return taskResult{}
	case errors.Is(err, disk.ErrWrite):
		return taskResult{err: err, code: fleetv1.Code_CODE_DISK}
	default:
		return taskResult{err: err, code: fleetv1.Code_CODE_CONFIG_REFUSED}
	}
}

// haproxyCode tells what kind of trouble HAProxy reported.
func haproxyCode(err error) fleetv1.Code {
	switch {
	case errors.Is(err, haproxy.ErrBind):
		return fleetv1.Code_CODE_BIND
	case errors.Is(err, haproxy.ErrResources):
		return fleetv1.Code_CODE_RESOURCES
	case errors.Is(err, haproxy.ErrRejected):
		return fleetv1.Code_CODE_CONFIG_REFUSED
	case errors.Is(err, haproxy.ErrStart):
		return fleetv1.Code_CODE_START
	default:
		return fleetv1.Code_CODE_UNREACHABLE
	}
}

// taskEnded takes up what a task has come to.
func (n *Node) taskEnded(ctx context.Context, r taskResult) {
	t := n.task
	n.task = nil
	if r.process != nil {
		n.process = r.process
	}
	now := time.Now()
	switch {
	case ctx.Err() != nil:
		return
	case t.reason == plan.None:
		if r.err != nil {
			n.filesBehind = now
			n.fail(r.code, r.err, n.cfg.RefreshFiles)
		} else {
			n.mended()
		}
		return
	case r.refused:
		n.reject(t, r)
		return
	case r.err != nil:
		n.fail(r.code, r.err, n.reload.failed(now, t.reason))
		n.restoreFiles(now)
		return
	}
	took := now.Sub(t.started)
	n.reload.ended(now, took)
	n.observed.reloads++
	n.metrics.reload(t.reason)
	n.log.Info().Str("reason", t.reason.String()).Str("revision", t.revision.Digest().Short()).Int("worker", r.worker.PID).Dur("took", took).
		Msg("HAProxy runs a new worker")
	n.meet(ctx, t, r)
}

// reject remembers that HAProxy refused a revision (NODE-5).
func (n *Node) reject(t *task, r taskResult) {
	digest := t.revision.Digest()
	n.log.Error().Str("revision", digest.Short()).Str("code", r.code.String()).Err(r.err).Msg("HAProxy refuses the revision; the last good one goes on")
	n.rejected[digest] = &fleetv1.RejectedRevision{Digest: digest[:], Code: r.code, Message: wire.Text(r.err.Error())}
	n.box.Rejected(&fleetv1.Rejected{
		Revision: wire.Mark{Version: t.revision.Version, Digest: digest}.Proto(), Code: r.code, Message: wire.Text(r.err.Error()),
	})
	n.restoreFiles(time.Now())
	if len(n.missing) > 0 && n.loaded != nil && n.loaded.Digest() != digest {
		n.reload.want(plan.Slots)
	}
}

// restoreFiles has the configuration on disk say again what the worker runs.
func (n *Node) restoreFiles(now time.Time) {
	if n.loaded != nil {
		n.filesBehind = now.Add(-n.cfg.RefreshFiles)
	}
}

// start runs HAProxy.
func (n *Node) start(ctx context.Context) (*haproxy.Process, haproxy.Identity, error) {
	if n.cfg.MasterSocket != "" {
		return nil, haproxy.Identity{}, fmt.Errorf("no HAProxy answers at %s, and it is not for this agent to start it: %w", n.cfg.MasterSocket, haproxy.ErrStart)
	}
	p, err := haproxy.Start(ctx, haproxy.StartConfig{
		Binary: n.cfg.HAProxy, Config: n.files.Config(), MasterSocket: n.cfg.masterSocket(), WorkerSocket: n.files.Socket(), StateDir: n.cfg.Settings.StateDir,
	})
	if err != nil {
		return nil, haproxy.Identity{}, fmt.Errorf("start HAProxy: %w", err)
	}
	id, err := p.WaitWorker(ctx)
	return p, id, err //nolint:wrapcheck // It says which process it waited for.
}

// reloadMaster has the master start a new worker.
func (n *Node) reloadMaster(ctx context.Context, previous haproxy.Identity) (haproxy.Identity, error) {
	id, err := haproxy.Reload(ctx, n.cfg.masterSocket(), n.files.Socket(), previous)
	if err != nil {
		return haproxy.Identity{}, fmt.Errorf("reload HAProxy: %w", err)
	}
	return id, nil
}
