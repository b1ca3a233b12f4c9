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

	inbox   chan delivery
	inspect chan inspection
	epochs  chan uint64
	done    chan taskResult

	// mu guards hello, which other goroutines read. It is not held over any call.
	mu    sync.Mutex
	hello Hello

	// Everything below is the loop's alone.

	// held is the newest from the plane or the journal, epoch the highest seen.
	held  journal.State
	epoch uint64
	// worker is the running worker, nil while there is none or it is being looked for. loaded is the revision that it runs, nil if not known, and
	// delta what leads from it to the held one.
	worker *worker.Worker
	loaded *snapshot.Revision
	delta  snapshot.RevisionDelta
	// by and reason say how the loaded revision came into the worker.
	by     fleetv1.By
	reason plan.Reason
	// stale are the backends whose worker's table is not known to equal the held one.
	stale map[string]struct{}
	// missing counts the slots that the worker lacks, by backend.
	missing map[string]int
	// excepted are the slots that HAProxy or the node refused, with what was wanted then.
	excepted map[worker.Slot]exception
	rejected map[snapshot.Digest]*fleetv1.RejectedRevision
	// applied is what the worker was last read to have.
	applied wire.Marks
	// slow and fast are about the changes of the revision and of the generation that are not yet applied.
	slow, fast pending

	haproxyVersion string
	capabilities   haproxy.Capabilities
	process        *haproxy.Process
	reload         pacing
	task           *task
	// retry is when to look again at what is stale or could not be done, with the delay that led there.
	retry      time.Time
	retryDelay time.Duration
	// filesBehind is when the configuration on disk first lagged behind the worker; zero if it does not.
	filesBehind time.Time
	verified    time.Time
	observed    observation
	failure     *fleetv1.Failed
	told        *fleetv1.Observed
}

// pending times the changes of one clock between their arrival and their read-back: when the oldest was seen by its source, and when it came here.
type pending struct {
	seen, since time.Time
}

type exception struct {
	slot    snapshot.Slot
	code    fleetv1.Code
	message string
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
}

// New returns a Node that holds what its journal says. Run starts it.
func New(cfg Config, p Parts) *Node {
	cfg = cfg.withDefaults()
	n := &Node{
		cfg: cfg, log: p.Log, box: p.Box, metrics: p.Metrics, journal: p.Journal, certs: p.Certs,
		files: files.New(cfg.Settings), listeners: cfg.listeners(),
		inbox: make(chan delivery), inspect: make(chan inspection), epochs: make(chan uint64), done: make(chan taskResult, 1),
		held: p.Held, stale: map[string]struct{}{}, missing: map[string]int{}, excepted: map[worker.Slot]exception{},
		rejected: map[snapshot.Digest]*fleetv1.RejectedRevision{},
	}
	n.epoch = wire.MarksOf(p.Held.Revision, p.Held.Generation).Epoch()
	n.reload.spacing = cfg.ReloadSpacing
	n.certificatesThere()
	n.publishHello()
	return n
}

// certificatesThere drops what was held if a certificate's file is gone: the plane sends it again, and a HAProxy that runs is left alone.
func (n *Node) certificatesThere() {
	for c := range snapshot.Of[*snapshot.Certificate](n.held.Revision, snapshot.KindCertificate) {
		if n.certs.Has(c) {
			continue
		}
		n.log.Warn().Str("certificate", c.Name).Msg("the file of a certificate is gone; the plane is asked for the revision again")
		gone := snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{c.Key(): nil}}
		n.held.Revision = n.held.Revision.Apply(gone, snapshot.Version{})
	}
}

// Run drives HAProxy until ctx ends. HAProxy goes on.
func (n *Node) Run(ctx context.Context) error {
	version, err := haproxy.Version(ctx, n.cfg.HAProxy)
	if err != nil {
		return fmt.Errorf("find out the version of HAProxy %s: %w", n.cfg.HAProxy, err)
	}
	n.haproxyVersion = version.Full
	defer n.close()
	n.begin(ctx)
	watch := time.NewTicker(n.cfg.Watch)
	defer watch.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		n.converge(ctx)
		n.publishHello()
		timer.Reset(n.untilNext(time.Now()))
		select {
		case <-ctx.Done():
			return nil
		case d := <-n.inbox:
			d.reply <- n.take(d.update)
		case e := <-n.epochs:
			n.epoch = max(n.epoch, e)
		case i := <-n.inspect:
			i.reply <- n.inspected(ctx, i.backends)
		case r := <-n.done:
			n.taskEnded(ctx, r)
		case <-n.journal.Changed():
			n.journalChanged()
		case <-watch.C:
			n.look(ctx)
		case <-timer.C:
		}
	}
}

// close waits for the task and lets go of the worker.
func (n *Node) close() {
	if n.task != nil {
		n.task.cancel()
		<-n.done
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

// untilNext is how long nothing has to be done if nothing happens.
func (n *Node) untilNext(now time.Time) time.Duration {
	next := now.Add(time.Hour)
	sooner := func(t time.Time) {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	sooner(n.retry)
	if n.task == nil {
		sooner(n.reload.due)
		if !n.filesBehind.IsZero() {
			sooner(n.filesBehind.Add(n.cfg.RefreshFiles))
		}
	}
	return max(0, next.Sub(now))
}

// fail notes that something around the node stands in the way, and tells it once.
func (n *Node) fail(code fleetv1.Code, err error, retryIn time.Duration) {
	f := &fleetv1.Failed{
		Wanted: wire.MarksOf(n.held.Revision, n.held.Generation).Proto(), Code: code, Message: wire.Text(err.Error()), RetryIn: duration(retryIn),
	}
	if n.failure == nil || n.failure.GetCode() != code || n.failure.GetMessage() != f.GetMessage() {
		n.log.Error().Err(err).Str("code", code.String()).Dur("retry_in", retryIn).Msg("cannot apply")
		n.box.Failed(f)
	}
	n.failure = f
}

// mended takes back what fail has told.
func (n *Node) mended() {
	if n.failure != nil && n.journal.Err() == nil {
		n.log.Info().Str("code", n.failure.GetCode().String()).Msg("what had failed works again")
		n.failure = nil
		n.box.Failed(nil)
	}
}

func (n *Node) journalChanged() {
	if err := n.journal.Err(); err != nil {
		n.fail(fleetv1.Code_CODE_DISK, err, time.Second)
		return
	}
	n.mended()
}

// backOff sets the time of the next look at what could not be done.
func (n *Node) backOff(now time.Time) time.Duration {
	n.retryDelay = min(max(2*n.retryDelay, 50*time.Millisecond), 5*time.Second)
	n.retry = now.Add(n.retryDelay)
	return n.retryDelay
}

// errGone is what Deliver and Inspect return when the node has ended.
var errGone = errors.New("the node is stopping")
