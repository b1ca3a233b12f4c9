package node

import (
	"context"
	"errors"
	"time"

	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// looked is what a look at HAProxy's processes has found.
type looked struct {
	worker haproxy.Identity
	state  haproxy.State
	err    error
}

// look starts a look at HAProxy's processes beside the loop, as a master may not answer for a while, and reads everything back now and then.
func (n *Node) look(ctx context.Context) {
	now := time.Now()
	if n.process != nil && n.process.Ended() {
		n.log.Error().Int("master", n.process.PID()).Str("exit", n.process.Exit()).Msg("HAProxy has ended")
		n.process = nil
		if n.worker != nil {
			n.letGo()
			n.everythingStale()
		}
		n.workerSeen.reset()
	}
	if n.process == nil {
		_ = haproxy.TrimLog(n.cfg.Settings.StateDir) // a log that stays long harms nothing else; of an own process Ended takes care
	}
	if n.reloading() && n.task.lost(now) {
		n.task.cancel()
	}
	if n.reloading() && n.task.reason == plan.Start && now.Sub(n.task.started) >= n.cfg.Slow {
		n.fail(aboutReload, fleetv1.Code_CODE_START, errSlow, 0)
	}
	n.tellObserved()
	if n.worker == nil {
		return
	}
	if !n.reloading() && now.Sub(n.verified) >= n.cfg.Verify {
		n.verified = now
		n.verify(ctx, now)
	}
	if n.worker != nil {
		n.watchIntake(ctx, now)
	}
	if n.worker != nil && !n.looking {
		n.looking = true
		go func(worker haproxy.Identity) {
			ctx, cancel := context.WithTimeout(ctx, n.cfg.CommandTimeout)
			defer cancel()
			state, err := haproxy.Look(ctx, n.cfg.masterSocket(), worker)
			n.looked <- looked{worker, state, err}
		}(n.worker.Process)
	}
}

// errSlow says that HAProxy takes longer to start than it should.
var errSlow = errors.New("HAProxy has been started and does not serve yet; it is waited for (what it says is in haproxy.log)")

// reloading says whether a worker is about to be replaced by this node's own doing.
func (n *Node) reloading() bool { return n.task != nil && n.task.reason != plan.None }

// forgottenAfter is how long a reload may take after another worker than its own has replaced the one before.
const forgottenAfter = time.Second

// lost says whether nothing is to be expected any more of a reload that somebody else has overtaken.
func (t *task) lost(now time.Time) bool {
	return !t.overtaken.IsZero() && now.Sub(t.overtaken) > max(forgottenAfter, t.overtaken.Sub(t.started))
}

// takeLook takes up what a look has found, unless it is about a worker of the past.
func (n *Node) takeLook(ctx context.Context, r looked) {
	n.looking = false
	if n.worker == nil || n.worker.Process != r.worker {
		return
	}
	if r.err == nil {
		n.observed.oldWorkers = r.state.OldWorkers
	}
	now := time.Now()
	if r.err == nil && r.state.Current {
		if !n.started.IsZero() && now.Sub(n.started) >= steady {
			n.started = time.Time{}
			n.reload.good()
		}
		return
	}
	// The master may be about to replace it, by this node's reload or by another, or busy with itself. Until then it takes the traffic: it decides itself.
	ctx, cancel := context.WithTimeout(ctx, n.cfg.CommandTimeout)
	defer cancel()
	if err := n.worker.Serves(ctx); err != nil {
		if n.lost(ctx, now, err); !n.reloading() {
			n.workerSeen.at = now
		}
	}
}

// verify reads the worker back and repairs what somebody else has changed.
func (n *Node) verify(ctx context.Context, now time.Time) {
	if n.unsure.now(now) || len(n.stale) > 0 || len(n.later) > 0 || n.loaded == nil || n.repair != plan.None {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, n.cfg.CommandTimeout)
	defer cancel()
	servers, err := n.worker.Servers(ctx)
	if err != nil {
		n.lost(ctx, now, err)
		return
	}
	drifted := n.strangers(servers)
	for t := range n.held.Generation.All() {
		if n.loaded.Backend(t.Backend) == nil || n.missing[t.Backend] > 0 {
			continue
		}
		if len(plan.Different(n.worker.Backends()[t.Backend], n.excepted.free(t))) > 0 {
			n.stale[t.Backend] = struct{}{}
			drifted++
		}
	}
	repaired, err := n.repairMaps(ctx)
	if drifted += repaired; drifted > 0 {
		n.drifted(drifted)
		n.log.Warn().Int("backends_and_maps", drifted).Msg("the worker was changed by somebody else; it is repaired")
	}
	if err != nil {
		n.lost(ctx, now, err)
		return
	}
	n.watchHealth(ctx, now, servers)
}

// strangers counts the servers that somebody has added to backends of the revision and that take traffic. They have no slot, so a reload is to remove them.
func (n *Node) strangers(servers []haproxy.Server) int {
	found := 0
	for _, s := range servers {
		if _, ours := render.ServerIndex(s.Name); ours || s.Maint || n.loaded.Backend(s.Backend) == nil {
			continue
		}
		n.log.Warn().Str("backend", s.Backend).Str("server", s.Name).Msg("a server takes traffic that nobody but its adder knows of; a reload removes it")
		n.repair = plan.Repair
		found++
	}
	return found
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
