package node

import (
	"context"
	"errors"
	"time"

	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// taskEnded takes up what a task has come to.
func (n *Node) taskEnded(ctx context.Context, r taskResult) {
	t := n.task
	n.task = nil
	if r.process != nil {
		n.process = r.process
		n.master, _ = haproxy.Identify(r.process.PID()) // zero if it has ended
	}
	if r.passed {
		n.passed = t.revision
	}
	now := time.Now()
	switch {
	case ctx.Err() != nil:
	case t.reason == plan.None:
		n.filesWritten(now, t, r)
	case r.leaving > 0:
		n.observed.oldWorkers = r.leaving
		n.reload.wait(now.Add(n.cfg.Watch))
		n.fail(aboutPacing, r.code, r.err, 0)
	case r.err != nil && !t.overtaken.IsZero():
		n.log.Warn().Err(r.err).Msg("somebody else has reloaded HAProxy meanwhile")
		n.restarted()
		n.reload.wait(now.Add(n.cfg.ReloadSpacing))
	case r.refused && t.revision != nil:
		n.reject(now, t, r)
	case r.err != nil:
		n.mended(aboutPacing)
		most := slowest
		if r.idle || t.reason == plan.Start && (r.code == fleetv1.Code_CODE_BIND || n.cfg.MasterSocket != "") {
			most = lookAgain // HAProxy was not even told
		}
		n.fail(aboutReload, r.code, r.err, n.reload.failed(now, most))
		n.restoreFiles(now)
	default:
		n.reloaded(ctx, now, t, r)
	}
	n.tellObserved()
}

// reloaded takes up that a new worker serves.
func (n *Node) reloaded(ctx context.Context, now time.Time, t *task, r taskResult) {
	took := now.Sub(t.started)
	n.reload.ended(now, took)
	n.started = now
	n.mended(aboutPacing)
	n.observed.reloads++
	n.metrics.reload(t.reason)
	if t.revision == nil || r.asItIs {
		n.log.Info().Int("worker", r.worker.PID).Msg("HAProxy runs with the configuration that was on the disk, as nothing else is known or can be written")
		n.mended(aboutReload)
		n.last = r.worker // it was not replaced by others
		n.find(ctx, now)
		return
	}
	n.mended(aboutFiles)
	n.log.Info().Str("reason", t.reason.String()).Str("revision", t.revision.Digest().Short()).Int("worker", r.worker.PID).Dur("took", took).
		Msg("HAProxy runs a new worker")
	err := n.meet(ctx, now, t, r)
	if errors.Is(err, errAnotherFile) {
		n.fail(aboutReload, fleetv1.Code_CODE_INTERNAL, err, n.reload.failed(now, slowest))
		n.seek(ctx, now) // its slots can be right all the same
		return
	}
	if n.mended(aboutReload); t.reason != plan.Start {
		n.reload.good() // a start has still to prove itself
	}
	if err != nil {
		n.lost(ctx, now, err)
	}
}

// filesWritten takes up what a writing of files has come to.
func (n *Node) filesWritten(now time.Time, t *task, r taskResult) {
	if len(r.lost) > 0 {
		n.drifted(len(r.lost))
		n.certificatesLost()
	}
	if r.err != nil {
		again := min(n.cfg.RefreshFiles<<min(n.filesFailed, 16), slowest)
		n.filesFailed++
		n.filesBehind = now.Add(again - n.cfg.RefreshFiles)
		n.fail(aboutFiles, r.code, r.err, again)
		return
	}
	n.filesFailed = 0
	n.mended(aboutFiles)
	if t.audit && len(r.written) > 0 && len(t.touched) == 0 {
		n.drifted(len(r.written))
		n.log.Warn().Strs("files", r.written).Msg("the configuration on disk was changed by somebody else; it is written anew")
	}
}

// reject remembers that HAProxy refused a revision (NODE-5).
func (n *Node) reject(now time.Time, t *task, r taskResult) {
	digest := t.revision.Digest()
	n.log.Error().Str("revision", digest.Short()).Str("code", r.code.String()).Err(r.err).Msg("HAProxy refuses the revision; the last good one goes on")
	report := &fleetv1.Rejected{
		Revision: wire.Mark{Version: t.revision.Version, Digest: digest}.Proto(), Code: r.code, Message: wire.Text(r.err.Error()),
	}
	n.rejected.add(digest, report)
	n.box.Rejected(report)
	n.slow = pending{} // what comes next is timed for itself
	n.reload.ended(now, now.Sub(t.started))
	n.mended(aboutPacing)
	n.restoreFiles(now)
}

// restoreFiles has the configuration on disk say again what the worker runs.
func (n *Node) restoreFiles(now time.Time) {
	if n.loaded != nil {
		n.filesBehind = now.Add(-n.cfg.RefreshFiles)
	}
}
