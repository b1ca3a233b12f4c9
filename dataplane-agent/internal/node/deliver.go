package node

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/disk"
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
		Applied: n.applied, Dirty: n.dirty(), Epoch: n.epoch, Worker: n.workerProto(), HAProxyVersion: n.haproxyVersion,
		Capabilities: capabilities(n.capabilities, n.cfg.AddServers), Revision: n.held.Revision, Generation: n.held.Generation,
	}
	for _, r := range n.rejected {
		h.Rejected = append(h.Rejected, r)
	}
	n.mu.Lock()
	n.hello = h
	n.mu.Unlock()
}

// dirty says whether the worker is not known to equal what was last reported.
func (n *Node) dirty() bool { return n.worker == nil || len(n.stale) > 0 }

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
		code := fleetv1.Code_CODE_INVALID
		if errors.Is(err, disk.ErrWrite) {
			code = fleetv1.Code_CODE_DISK
		}
		return answer(err, code)
	}
	rev, gen, err := u.Apply(n.held.Revision, n.held.Generation)
	if err != nil {
		return answer(err, wire.CodeOf(err))
	}
	n.epoch = u.To.Epoch()
	n.wants(u, rev, gen)
	n.journal.Append(u, n.held)
	if u.ChangesRevision() {
		n.slow.add(u.Seen)
		if n.rejected[rev.Digest()] == nil {
			n.box.Rejected(nil)
		}
	}
	if u.ChangesGeneration() {
		n.fast.add(u.Seen)
	}
	return answer(nil, fleetv1.Code_CODE_OK)
}

// keepCertificates puts the texts of the update's certificates into their files and takes them out of the update.
func (n *Node) keepCertificates(u wire.Update) (wire.Update, error) {
	for k, r := range u.Revision.Changes {
		c, ok := r.(*snapshot.Certificate)
		if !ok {
			continue
		}
		kept, err := n.certs.Keep(c)
		if err != nil {
			return u, err
		}
		u.Revision.Changes[k] = kept // the update is ours alone
	}
	return u, nil
}

// wants notes what differs between what is held now and what the worker has.
func (n *Node) wants(u wire.Update, rev *snapshot.Revision, gen *snapshot.Generation) {
	old := n.held
	n.held = journal.State{Revision: rev, Generation: gen, Running: old.Running}
	tables := u.Generation
	if u.ChangesGeneration() && u.Scope != fleetv1.Scope_SCOPE_CHANGES {
		tables = snapshot.DiffGenerations(old.Generation, gen)
	}
	for backend := range tables.Tables {
		n.stale[backend] = struct{}{}
	}
	if n.task != nil {
		n.task.changed(tables)
	}
	if n.loaded == nil || !u.ChangesRevision() {
		return
	}
	if u.Scope == fleetv1.Scope_SCOPE_CHANGES {
		n.delta = n.delta.Merge(u.Revision)
	} else {
		n.delta = snapshot.DiffRevisions(n.loaded, rev)
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
