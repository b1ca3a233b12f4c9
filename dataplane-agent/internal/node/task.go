package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
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
	reason plan.Reason
	// revision is what is to run, nil for a start with the configuration that is on the disk.
	revision *snapshot.Revision
	checked  bool
	previous haproxy.Identity
	// moves says that the worker may not listen yet where the next one is to.
	moves bool
	// audit says that the files are known to say what is held, unless somebody else has changed them.
	audit bool
	// certificates says that their files are to be looked at, too.
	certificates bool
	// newest is the generation that a configuration is rendered with: the newest at that moment, not at the task's start (P1).
	newest atomic.Pointer[snapshot.Generation]
	// replaced says that the worker before the reload is leaving, overtaken when another one was met without word from the task. The loop's alone.
	replaced  bool
	overtaken time.Time
	// touched are the backends whose tables have changed since the task began. The loop's alone.
	touched map[string]struct{}
	started time.Time
}

// taskResult is what a task has come to.
type taskResult struct {
	err  error
	code fleetv1.Code
	// rendered is the generation that the configuration in force was written with, written the files that were not so already.
	rendered *snapshot.Generation
	written  []string
	// lost are certificates whose files are gone, as an audit finds.
	lost   []*snapshot.Certificate
	worker haproxy.Identity
	// process is the master that was started, if one was.
	process *haproxy.Process
	// idle says that HAProxy was left alone, asItIs that it was started with the configuration that was on the disk, whatever that says.
	idle, asItIs bool
	// refused says that HAProxy refused the revision, passed that it took it for good without running it.
	refused, passed bool
	// leaving is the number of old workers that were left when there were too many of them to begin.
	leaving int
}

// changed notes that tables change while the task is under way.
func (t *task) changed(d snapshot.GenerationDelta, newest *snapshot.Generation) {
	for b := range d.Tables {
		t.touched[b] = struct{}{}
	}
	t.newest.Store(newest)
}

// startTask begins the task that is due, if one is.
func (n *Node) startTask(ctx context.Context, now time.Time) {
	reason := n.need()
	if reason == plan.None {
		n.mended(aboutReload)
		n.mended(aboutPacing)
		if !n.incomplete {
			n.mended(aboutCertificates)
		}
	}
	switch {
	case reason != plan.None && n.reload.ready(now):
		rev := n.next(reason)
		if rev == nil || reason == plan.Start && n.leftover {
			n.launch(ctx, &task{reason: reason}) // what an agent has left on the disk
			return
		}
		if err := n.writeUnkept(rev); err != nil {
			n.fail(aboutCertificates, fleetv1.Code_CODE_DISK, err, n.reload.failed(now, slowest))
			return
		}
		n.mended(aboutCertificates)
		if reason != plan.Start && gone(n.files.Socket()) {
			n.files = n.files.Anew()
		}
		n.attempted = rev
		checked := rev == n.passed || n.loaded != nil && (rev == n.loaded || rev.StructureDigest() == n.loaded.StructureDigest())
		n.launch(ctx, &task{reason: reason, revision: rev, checked: checked, moves: n.moves && reason != plan.Start})
	case n.loaded == nil, n.unsure.now(now):
	case !n.filesBehind.IsZero() && now.Sub(n.filesBehind) >= n.cfg.RefreshFiles:
		n.filesBehind = time.Time{}
		n.audited = now
		n.launch(ctx, &task{reason: plan.None, revision: n.loaded, certificates: n.place.compared()})
	case n.filesBehind.IsZero() && now.Sub(n.audited) >= n.cfg.Verify:
		n.audited = now
		n.launch(ctx, &task{reason: plan.None, revision: n.loaded, audit: true, certificates: true})
		n.place.compare = false
	}
}

// leavingWorkers asks the master how many workers only finish what they have.
func (n *Node) leavingWorkers(ctx context.Context, t *task) int {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.CommandTimeout)
	defer cancel()
	state, err := haproxy.Look(ctx, n.cfg.masterSocket(), t.previous)
	if err != nil {
		return 0 // a master that cannot tell is to be asked for the reload all the same
	}
	return state.OldWorkers
}

func (n *Node) launch(ctx context.Context, t *task) {
	ctx, t.cancel = context.WithTimeout(ctx, n.cfg.ReloadTimeout)
	t.started, t.touched = time.Now(), map[string]struct{}{}
	if n.worker != nil {
		t.previous = n.worker.Process
	}
	t.newest.Store(n.rendering())
	n.task = t
	go func() {
		defer t.cancel()
		n.done <- n.perform(ctx, t)
	}()
}

// perform runs in the task's goroutine.
func (n *Node) perform(ctx context.Context, t *task) taskResult {
	if t.reason != plan.None && t.reason != plan.Start {
		if leaving := n.leavingWorkers(ctx, t); leaving >= n.cfg.MaxOldWorkers { // NODE-6
			return taskResult{err: errTooManyLeave, code: fleetv1.Code_CODE_PACED, leaving: leaving}
		}
	}
	if t.reason != plan.None {
		// Files that need no change are not written; and a master of 2.6 that cannot make its socket anew in a reload ends, and its worker with it.
		if err := disk.Writable(n.cfg.Settings.StateDir); err != nil {
			if t.reason == plan.Start && n.cfg.MasterSocket == "" && n.files.Ours() {
				return n.startAsItIs(ctx, err)
			}
			return failed(err)
		}
	}
	if t.moves {
		if err := n.vacant(ctx, t.previous); err != nil {
			return taskResult{err: err, code: fleetv1.Code_CODE_BIND, idle: true}
		}
	}
	if t.reason != plan.None && !t.checked {
		if r := n.check(ctx, t); r.err != nil {
			return r
		}
	}
	r := taskResult{rendered: t.newest.Load(), code: fleetv1.Code_CODE_OK, passed: t.reason != plan.None}
	if t.certificates {
		r.lost = n.lostCertificates(t.revision)
	}
	if t.revision != nil {
		var err error
		if r.written, err = n.files.Write(t.revision, r.rendered); err != nil {
			f := failed(err)
			f.lost, f.passed = r.lost, r.passed
			return f
		}
	}
	switch t.reason {
	case plan.None:
	case plan.Start:
		r.process, r.worker, r.err = n.start(ctx)
	default:
		r.worker, r.err = n.reloadMaster(ctx, t.previous)
	}
	if r.err != nil {
		r.code = haproxyCode(r.err)
		r.refused = errors.Is(r.err, haproxy.ErrRejected)
	}
	if r.refused && t.revision != nil {
		n.acquit(t, &r)
	}
	return r
}

// acquit takes back that HAProxy refused a revision, if what it read was not what had been written: somebody else was faster, and that is no verdict (NODE-5).
func (n *Node) acquit(t *task, r *taskResult) {
	altered, err := n.files.Write(t.revision, r.rendered)
	if err != nil || len(altered) == 0 {
		return
	}
	r.refused, r.code = false, fleetv1.Code_CODE_START
	r.err = fmt.Errorf("somebody else has changed %s before HAProxy read it; it is written anew: %w", strings.Join(altered, ", "), r.err)
}

// vacant finds out whether the listeners of this node can be had, before a reload in which HAProxy would try: while it does, for some two seconds, nobody is served.
func (n *Node) vacant(ctx context.Context, worker haproxy.Identity) error {
	for _, l := range n.cfg.places() {
		if worker.Listens(l.port) {
			continue
		}
		if err := haproxy.Vacant(ctx, []string{l.address}); err != nil {
			return fmt.Errorf("reload HAProxy for other listeners: %w", err)
		}
	}
	return nil
}

// errTooManyLeave puts a reload off.
var errTooManyLeave = errors.New("too many old workers still finish what they have; the reload waits")

// check renders the revision beside what is in force and lets HAProxy judge it.
func (n *Node) check(ctx context.Context, t *task) taskResult {
	path := n.files.Config()
	if t.revision != nil {
		var err error
		if path, err = n.files.WriteCandidate(t.revision, t.newest.Load()); err != nil {
			r := failed(err)
			r.refused = !errors.Is(err, disk.ErrWrite)
			return r
		}
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
	case errors.Is(err, haproxy.ErrStart), errors.Is(err, errNotOurFile), errors.Is(err, haproxy.ErrElsewhere):
		return fleetv1.Code_CODE_START
	default:
		return fleetv1.Code_CODE_UNREACHABLE
	}
}

// start runs HAProxy.
func (n *Node) start(ctx context.Context) (*haproxy.Process, haproxy.Identity, error) {
	if n.cfg.MasterSocket != "" {
		return nil, haproxy.Identity{}, fmt.Errorf("no HAProxy answers at %s, and it is not for this agent to start it; its configuration is written: start it with -W -S %s -f %s: %w",
			n.cfg.MasterSocket, n.cfg.MasterSocket, n.files.Config(), haproxy.ErrStart)
	}
	p, err := haproxy.Start(ctx, haproxy.StartConfig{
		Binary: n.cfg.HAProxy, Config: n.files.Config(), MasterSocket: n.cfg.masterSocket(), WorkerSocket: n.files.Socket(), StateDir: n.cfg.Settings.StateDir,
		Listeners: n.cfg.addresses(),
	})
	if err != nil {
		return nil, haproxy.Identity{}, fmt.Errorf("start HAProxy: %w", err)
	}
	if master, err := haproxy.Identify(p.PID()); err == nil {
		if err := rememberMaster(n.cfg.Settings.StateDir, master); err != nil {
			n.log.Warn().Err(err).Msg("an agent that comes back may not know that HAProxy runs")
		}
	}
	id, err := p.WaitWorker(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && !p.Ended() {
		// It has a port or a socket that the next one will want. When the agent ends it is left alone: the next agent finds it.
		_ = syscall.Kill(p.PID(), syscall.SIGKILL)
	}
	return p, id, err //nolint:wrapcheck // It says which process it waited for.
}

// startAsItIs starts HAProxy with the configuration that is on a disk which takes nothing now: it is nearly what is wanted (P1), which is better than nobody who serves.
func (n *Node) startAsItIs(ctx context.Context, why error) taskResult {
	r := taskResult{asItIs: true, code: fleetv1.Code_CODE_OK}
	if r.process, r.worker, r.err = n.start(ctx); r.err != nil {
		r.code, r.err = fleetv1.Code_CODE_DISK, fmt.Errorf("%w; HAProxy does not start with what is there: %w", why, r.err)
	}
	return r
}

// errNotOurFile means that no reload can bring what is wanted.
var errNotOurFile = errors.New("it cannot be brought to what is wanted until it is started with -f")

// reloadMaster has the master start a new worker.
func (n *Node) reloadMaster(ctx context.Context, previous haproxy.Identity) (haproxy.Identity, error) {
	if n.cfg.MasterSocket != "" {
		if m, ok := haproxy.FindMaster(n.cfg.MasterSocket); ok && !m.Reads(n.files.Config()) {
			return haproxy.Identity{}, fmt.Errorf("reload HAProxy: its master %d was started with %s: %w %s", m.PID, strings.Join(m.Files, " and "), errNotOurFile, n.files.Config())
		}
	}
	id, err := haproxy.Reload(ctx, n.cfg.masterSocket(), n.files.Socket(), previous)
	if err != nil {
		return haproxy.Identity{}, fmt.Errorf("reload HAProxy: %w", err)
	}
	return id, nil
}
