package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/certs"
	"github.com/berth-proxy/berth/dataplane-agent/internal/files"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	"github.com/berth-proxy/berth/dataplane-agent/internal/journal"
	"github.com/berth-proxy/berth/dataplane-agent/internal/listener"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
	"github.com/berth-proxy/berth/dataplane-agent/internal/report"
	"github.com/berth-proxy/berth/dataplane-agent/internal/worker"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Node is one HAProxy and what is wanted of it.
type Node struct {
	cfg       Config
	log       zerolog.Logger
	box       *report.Box
	metrics   *Metrics
	journal   *journal.Journal
	certs     *certs.Folder
	files     files.Writer
	listeners listener.Set
	lock      Lock

	inbox   chan delivery
	inspect chan inspection
	epochs  chan uint64
	done    chan taskResult
	looked  chan looked

	// mu guards hello, which other goroutines read. It is not held over any call.
	mu    sync.Mutex
	hello Hello

	// Everything below is the loop's alone.

	// held is the newest from the plane or the journal, epoch the highest seen.
	held  journal.State
	epoch uint64
	// incomplete says that held lacks certificates that its revision had: the plane sends them again, and until then a HAProxy that runs is let be.
	incomplete bool
	// unsure is the doubt that held may be older than what the worker has.
	unsure unsure
	// unkept are the certificates of held that could not be written to the disk yet.
	unkept map[snapshot.Digest]*snapshot.Certificate

	// worker is the running worker, nil while there is none or it is being looked for; last is the one that was met last, and master the process that was started
	// last. down says that no HAProxy runs.
	worker       *worker.Worker
	last, master haproxy.Identity
	down         bool
	// loaded is the revision that the worker runs, nil if not known, delta what leads from it to the held one, and planned how it is led there.
	loaded  *snapshot.Revision
	delta   snapshot.RevisionDelta
	planned planned
	// repair is why the worker cannot be brought to what is held at run time, whatever is planned; None if it can.
	repair plan.Reason
	// odd is what the last look has found that the worker lets in otherwise than it should.
	odd []plan.Amendment
	// by and reason say how the loaded revision came into the worker.
	by     fleetv1.By
	reason plan.Reason
	// stale are the backends whose worker's table is not known to equal the held one, later those of them that did not show what was written: they
	// wait, and nobody waits with them.
	stale, later map[string]struct{}
	tablesAgain  backoff
	// missing counts the slots that the worker lacks, by backend.
	missing  map[string]int
	excepted exceptions
	rejected rejections
	haproxy  program
	process  *haproxy.Process
	// attempted is the revision that was tried last, passed the one that HAProxy last took for good.
	attempted, passed *snapshot.Revision
	workerSeen        backoff
	reload            pacing
	task              *task
	looking           bool
	place             place
	// leftover says that nothing is held, no HAProxy runs, and a configuration of an earlier time is on the disk.
	leftover bool
	// moves says that the worker may listen elsewhere than this agent's HAProxy is to.
	moves bool
	// described is how the worker that was adopted last describes its configuration.
	described string
	// filesFailed counts how often in a row files could not be written.
	filesFailed int
	// filesBehind is when the configuration on disk first lagged behind what is held; zero if it does not.
	filesBehind time.Time
	// verified is when everything was last read back, audited when the files were last compared, started when the last worker was started by this node.
	verified, audited, started time.Time

	// applied is what the worker was last read to have; tellAgain says that it is to be told though it is no news.
	applied   wire.Marks
	tellAgain bool
	// slow and fast are about the changes of the revision and of the generation that are not yet applied.
	slow, fast pending
	observed   observation
	troubles   troubles
	told       *fleetv1.Observed
}

// program is the HAProxy that runs: its version, and what its worker was found to be able to do.
type program struct {
	version      string
	capabilities haproxy.Capabilities
}

// pending times the changes of one clock between their arrival and their read-back: when the oldest was seen by its source, and when it came here.
type pending struct {
	seen, since time.Time
}

// observation is what the node has seen by itself, counted since its start.
type observation struct {
	oldWorkers                int
	reloads, drifts, restarts uint64
}

// Parts are what a Node works with.
type Parts struct {
	Log     zerolog.Logger
	Box     *report.Box
	Metrics *Metrics
	Journal *journal.Journal
	Held    journal.State
	Certs   *certs.Folder
	// Lock may be nil.
	Lock Lock
}

// New returns a Node that holds what its journal says. Run starts it.
func New(cfg Config, p Parts) *Node {
	cfg = cfg.withDefaults()
	n := &Node{
		cfg: cfg, log: p.Log, box: p.Box, metrics: p.Metrics, journal: p.Journal, certs: p.Certs,
		files: files.New(cfg.Settings), listeners: cfg.listeners(), lock: p.Lock,
		inbox: make(chan delivery), inspect: make(chan inspection), epochs: make(chan uint64),
		done: make(chan taskResult, 1), looked: make(chan looked, 1),
		held: p.Held, unkept: map[snapshot.Digest]*snapshot.Certificate{},
		stale: map[string]struct{}{}, later: map[string]struct{}{}, missing: map[string]int{},
	}
	n.epoch = wire.MarksOf(p.Held.Revision, p.Held.Generation).Epoch()
	n.reload.spacing = cfg.ReloadSpacing
	n.master = recallMaster(cfg.Settings.StateDir)
	n.unsure.damaged = p.Journal.Problem() != nil
	n.certificatesThere()
	for t := range n.held.Generation.All() {
		n.exceptOwn(t)
	}
	n.publishHello()
	return n
}

// Run drives HAProxy until ctx ends. HAProxy goes on.
func (n *Node) Run(ctx context.Context) error {
	version, err := haproxy.Version(ctx, n.cfg.HAProxy)
	if err != nil {
		return fmt.Errorf("find out the version of HAProxy %s: %w", n.cfg.HAProxy, err)
	}
	n.haproxy.version = version.Full
	ctx, cancel := context.WithCancel(ctx)
	defer n.close()
	defer cancel()
	if n.held.Running != nil && n.held.Running.Digest() != n.held.Revision.Digest() {
		n.log.Info().Str("revision", n.held.Running.Digest().Short()).Msg("a HAProxy that has to be started gets the last revision that was run")
	}
	watch := time.NewTicker(n.cfg.Watch)
	defer watch.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		n.metrics.turn()
		n.converge(ctx)
		n.publishHello()
		timer.Reset(n.untilNext(time.Now()))
		select {
		case <-ctx.Done():
			return nil
		case d := <-n.inbox:
			received := n.take(d.update)
			n.publishHello() // a node that holds more than its worker has says so before the first byte is written (P6)
			d.reply <- received
		case e := <-n.epochs:
			n.epoch = max(n.epoch, e)
		case i := <-n.inspect:
			i.reply <- n.inspected(ctx, i.backends)
		case r := <-n.done:
			n.taskEnded(ctx, r)
		case r := <-n.looked:
			n.takeLook(ctx, r)
		case <-n.journal.Changed():
			n.journalChanged()
		case <-watch.C:
			if err := n.watchPlace(time.Now()); err != nil {
				return fmt.Errorf("state directory %s: another agent has taken it over while it was empty; this one ends: %w", n.cfg.Settings.StateDir, err)
			}
			n.look(ctx)
		case <-timer.C:
		}
	}
}

// close waits for what goes on beside the loop and lets go of the worker.
func (n *Node) close() {
	if n.task != nil {
		n.task.cancel()
		<-n.done
	}
	if n.looking {
		<-n.looked
	}
	n.letGo()
}

// letGo closes the connection to the worker (NODE-4).
func (n *Node) letGo() {
	if n.worker != nil {
		n.worker.Close()
		n.worker = nil
	}
}

// untilNext is how long nothing can be done if nothing happens. What is due already was tried in this turn: each of these times lies ahead, or the
// next turn has something to do.
func (n *Node) untilNext(now time.Time) time.Duration {
	next := now.Add(time.Hour)
	sooner := func(t time.Time) {
		if t.Before(next) {
			next = t
		}
	}
	switch {
	case n.worker == nil:
		sooner(n.workerSeen.at)
	case len(n.stale) > 0:
		sooner(now)
	case len(n.later) > 0:
		sooner(n.tablesAgain.at)
	}
	if n.unsure.now(now) {
		next = n.unsure.until
		if next.IsZero() {
			next = now.Add(time.Hour)
		}
		if n.worker == nil {
			sooner(n.workerSeen.at)
		}
	}
	if n.task == nil {
		if n.need() != plan.None {
			sooner(n.reload.notBefore)
		}
		if !n.filesBehind.IsZero() && n.loaded != nil && !n.unsure.now(now) {
			sooner(n.filesBehind.Add(n.cfg.RefreshFiles))
		}
	}
	return max(0, next.Sub(now))
}

func (n *Node) journalChanged() {
	if err := n.journal.Err(); err != nil {
		n.fail(aboutJournal, fleetv1.Code_CODE_DISK, err, time.Second)
		return
	}
	n.mended(aboutJournal)
	n.diskMended(time.Now())
}

// diskMended has what a full disk has put off tried at once.
func (n *Node) diskMended(now time.Time) {
	if n.filesFailed > 0 {
		n.filesFailed = 0
		n.restoreFiles(now)
	}
	for _, kind := range []trouble{aboutReload, aboutCertificates} {
		if n.troubles.now[kind].GetCode() == fleetv1.Code_CODE_DISK {
			n.reload.wait(now)
		}
	}
}

// errGone is what Deliver and Inspect return when the node has ended.
var errGone = errors.New("the node is stopping")
