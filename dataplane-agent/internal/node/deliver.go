package node

import (
	"context"
	"maps"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	"github.com/berth-proxy/berth/dataplane-agent/internal/journal"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Hello is what the node says of itself when it meets a plane.
type Hello struct {
	Held           wire.Marks
	Applied        wire.Marks
	Dirty          bool
	Epoch          uint64
	Rejected       []*fleetv1.RejectedRevision
	Worker         *fleetv1.Worker
	HAProxyVersion string
	Capabilities   []fleetv1.Capability

	// Revision and Generation are what Held stands for.
	Revision   *snapshot.Revision
	Generation *snapshot.Generation
}

type delivery struct {
	update wire.Update
	reply  chan *fleetv1.Received
}

// Hello may be called from any goroutine.
func (n *Node) Hello() Hello {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hello
}

// Deliver hands an update to the node and returns once the node holds it, or with the code of why it does not. It does not wait for HAProxy to have it.
func (n *Node) Deliver(ctx context.Context, u wire.Update) (*fleetv1.Received, error) {
	d := delivery{u, make(chan *fleetv1.Received, 1)}
	select {
	case n.inbox <- d:
		return <-d.reply, nil
	case <-ctx.Done():
		return nil, errGone
	}
}

// SawEpoch tells the node of a plane's epoch.
func (n *Node) SawEpoch(ctx context.Context, epoch uint64) {
	select {
	case n.epochs <- epoch:
	case <-ctx.Done():
	}
}

func (n *Node) publishHello() {
	h := Hello{
		Held:    wire.MarksOf(n.held.Revision, n.held.Generation),
		Applied: n.applied, Dirty: n.dirty(), Epoch: n.epoch, Rejected: n.rejected.hello, Worker: n.workerProto(), HAProxyVersion: n.haproxy.version,
		Capabilities: capabilities(n.haproxy.capabilities, n.cfg.AddServers), Revision: n.held.Revision, Generation: n.held.Generation,
	}
	n.mu.Lock()
	n.hello = h
	n.mu.Unlock()
}

// dirty says whether the worker is not known to equal what was last reported.
func (n *Node) dirty() bool {
	return n.worker == nil || n.unsure.now(time.Now()) || n.loaded == nil || n.repair != plan.None || len(n.stale) > 0 || len(n.later) > 0
}

func (n *Node) workerProto() *fleetv1.Worker {
	if n.worker == nil {
		return nil
	}
	return &fleetv1.Worker{Pid: int64(n.worker.Process.PID), StartTicks: n.worker.Process.StartTime}
}

func capabilities(c haproxy.Capabilities, addServers bool) []fleetv1.Capability {
	var out []fleetv1.Capability
	add := func(can bool, c fleetv1.Capability) {
		if can {
			out = append(out, c)
		}
	}
	add(c.AddServer && addServers, fleetv1.Capability_CAPABILITY_ADD_SERVER)
	add(c.MapVersions, fleetv1.Capability_CAPABILITY_MAP_VERSIONS)
	add(c.AddBackend, fleetv1.Capability_CAPABILITY_ADD_BACKEND)
	add(c.Wait, fleetv1.Capability_CAPABILITY_WAIT)
	return out
}

// take makes an update what is held (NODE-1).
func (n *Node) take(u wire.Update) *fleetv1.Received {
	answer := func(err error, code fleetv1.Code) *fleetv1.Received {
		r := &fleetv1.Received{Id: u.ID, Code: code, Held: wire.MarksOf(n.held.Revision, n.held.Generation).Proto(), Epoch: n.epoch}
		if err != nil {
			r.Message = wire.Text(err.Error())
		}
		return r
	}
	if u.To.Epoch() < n.epoch {
		return answer(nil, fleetv1.Code_CODE_OLD_EPOCH)
	}
	u, err := n.keepCertificates(u)
	if err != nil {
		return answer(err, fleetv1.Code_CODE_INVALID)
	}
	rev, gen, err := u.Apply(n.held.Revision, n.held.Generation)
	if err != nil {
		return answer(err, wire.CodeOf(err))
	}
	n.epoch = u.To.Epoch()
	n.unsure, n.leftover = unsure{over: true}, false
	n.wants(u, rev, gen)
	n.journal.Append(u, n.held)
	return answer(nil, fleetv1.Code_CODE_OK)
}

// wants notes what differs between what is held now and what the worker has.
func (n *Node) wants(u wire.Update, rev *snapshot.Revision, gen *snapshot.Generation) {
	old := n.held
	n.held = journal.State{Revision: rev, Generation: gen, Running: old.Running}
	if n.filesBehind.IsZero() && !wire.MarksOf(rev, gen).Same(wire.MarksOf(old.Revision, old.Generation)) {
		n.filesBehind = time.Now()
	}
	if u.ChangesGeneration() {
		n.wantsTables(u, old.Generation)
	}
	if u.ChangesRevision() {
		n.wantsRevision(u)
	}
}

func (n *Node) wantsTables(u wire.Update, old *snapshot.Generation) {
	gen := n.held.Generation
	d := u.Generation
	if u.Scope != fleetv1.Scope_SCOPE_CHANGES {
		d = snapshot.DiffGenerations(old, gen)
	}
	for backend, td := range d.Tables {
		n.stale[backend] = struct{}{}
		delete(n.later, backend)
		n.exceptOwnOf(gen.Table(backend), backend, td)
	}
	if n.task != nil {
		n.task.changed(d, n.rendering())
	}
	if (wire.Mark{Version: gen.Version, Digest: gen.Digest()}) != n.applied.Generation {
		n.fast.add(u.Seen)
	}
}

func (n *Node) wantsRevision(u wire.Update) {
	rev := n.held.Revision
	n.incomplete = false
	n.planned = planned{}
	switch {
	case n.loaded == nil:
		if known, _ := n.knows(n.described); n.worker != nil && known != nil {
			n.letGo() // it runs what is held now: it is met once more, as one that is known
			n.everythingStale()
			n.workerSeen.reset()
		}
	case u.Scope == fleetv1.Scope_SCOPE_CHANGES:
		maps.Copy(n.delta.Changes, u.Revision.Changes)
	default:
		n.delta = snapshot.DiffRevisions(n.loaded, rev)
	}
	refused := n.rejected.get(rev.Digest())
	n.box.Rejected(refused)
	if refused == nil && (wire.Mark{Version: rev.Version, Digest: rev.Digest()}) != n.applied.Revision {
		n.slow.add(u.Seen)
	}
}

// add notes a change that is to be timed until it is applied.
func (p *pending) add(seen time.Time) {
	if p.since.IsZero() {
		p.since = time.Now()
	}
	if p.seen.IsZero() || !seen.IsZero() && seen.Before(p.seen) {
		p.seen = seen
	}
}

// older is the one of both that has waited longer.
func (p pending) older(q pending) pending {
	if p.since.IsZero() || !q.since.IsZero() && q.since.Before(p.since) {
		return q
	}
	return p
}

func duration(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

var reasons = map[plan.Reason]fleetv1.ReloadReason{
	plan.Start:       fleetv1.ReloadReason_RELOAD_REASON_START,
	plan.Section:     fleetv1.ReloadReason_RELOAD_REASON_SECTION,
	plan.Backend:     fleetv1.ReloadReason_RELOAD_REASON_BACKEND,
	plan.Slots:       fleetv1.ReloadReason_RELOAD_REASON_SLOTS,
	plan.Certificate: fleetv1.ReloadReason_RELOAD_REASON_CERTIFICATE,
	plan.Map:         fleetv1.ReloadReason_RELOAD_REASON_MAP,
	plan.Repair:      fleetv1.ReloadReason_RELOAD_REASON_REPAIR,
}
