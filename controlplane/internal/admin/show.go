package admin

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/desired"
	"github.com/berth-proxy/berth/controlplane/internal/explain"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	"github.com/berth-proxy/berth/controlplane/internal/store"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

func showTime(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// showMark is nil for the zero Mark: there is none.
func showMark(m wire.Mark, at time.Time) *adminv1.Mark {
	if m == (wire.Mark{}) {
		return nil
	}
	return &adminv1.Mark{Epoch: m.Version.Epoch, Number: m.Version.Number, Digest: m.Digest.String(), Time: showTime(at)}
}

// problems counts the objects of a fleet of which not everything is in force.
type problems struct{ rejected, warned uint32 }

// problems asks the compiler, which waits for its readers: who looks often asks seldom.
func (s *Server) problems(fleet string) (n problems) {
	for _, p := range s.Compiler.Problems(fleet) {
		if p.State == desired.Rejected {
			n.rejected++
		} else {
			n.warned++
		}
	}
	return n
}

func (s *Server) showFleet(f changelog.Fleet, objects problems) *adminv1.Fleet {
	head := f.Log.Head()
	newest := head.Marks()
	out := &adminv1.Fleet{
		Name: f.Name, Waiting: f.Waiting, ObjectsRejected: objects.rejected, ObjectsWarned: objects.warned,
		Revision: showMark(newest.Revision, head.RevisionTime), Generation: showMark(newest.Generation, head.GenerationTime),
	}
	for b := range snapshot.Of[*snapshot.Backend](head.Revision, snapshot.KindBackend) {
		if b.Name != explain.Unavailable {
			out.Backends++
		}
	}
	for t := range head.Generation.All() {
		n := count(t)
		out.Slots += n.slots
		out.SlotsReady += n.ready
		out.SlotsDraining += n.draining
		out.SlotsFree += n.free
	}
	for _, v := range s.Nodes.List(f.Name) {
		out.Nodes++
		if v.Connected {
			out.NodesConnected++
		}
		if v.HasRevision(newest.Revision) {
			out.RevisionApplied++
		}
		if v.HasGeneration(newest.Generation) {
			out.GenerationApplied++
		}
		switch v.State(newest) {
		case node.Rejected:
			out.NodesRejected++
		case node.Failed:
			out.NodesFailed++
		}
	}
	return out
}

type counted struct{ slots, ready, draining, free uint32 }

// count counts the slots of a table, which may be nil.
func count(t *snapshot.Table) (n counted) {
	if t == nil {
		return n
	}
	for _, s := range t.Slots {
		n.slots++
		switch s.State {
		case snapshot.Ready:
			n.ready++
		case snapshot.Drain:
			n.draining++
		default:
			n.free++
		}
	}
	return n
}

func showBackend(b compile.BackendInfo, t *snapshot.Table) *adminv1.Backend {
	n := count(t)
	out := &adminv1.Backend{
		Name: b.Name, Service: b.Service, Cluster: b.Cluster, Slots: n.slots, Ready: n.ready, Draining: n.draining, Free: n.free,
	}
	if t != nil {
		out.Changed = &adminv1.Mark{Epoch: t.Version.Epoch, Number: t.Version.Number}
	}
	return out
}

var nodeStates = map[node.State]adminv1.NodeState{
	node.Current:      adminv1.NodeState_NODE_STATE_CURRENT,
	node.Behind:       adminv1.NodeState_NODE_STATE_BEHIND,
	node.Rejected:     adminv1.NodeState_NODE_STATE_REJECTED,
	node.Failed:       adminv1.NodeState_NODE_STATE_FAILED,
	node.Waiting:      adminv1.NodeState_NODE_STATE_WAITING,
	node.Disconnected: adminv1.NodeState_NODE_STATE_DISCONNECTED,
}

// maxExcepted is how many excepted slots of a node are shown: with the longest names and words that a node may send these are a tenth of a message.
const maxExcepted = 100

// showNode shows a node beside the newest of its fleet; head is nil when the fleet is not known.
func showNode(v node.View, head *changelog.Head) *adminv1.Node {
	var newest wire.Marks
	if head != nil {
		newest = head.Marks()
	}
	out := &adminv1.Node{
		Name: v.Name, Fleet: v.Fleet, State: nodeStates[v.State(newest)],
		HaproxyVersion: v.HAProxyVersion, AgentVersion: v.AgentVersion,
		Revision: showMark(v.Applied.Revision, time.Time{}), Generation: showMark(v.Applied.Generation, time.Time{}), Dirty: v.Dirty,
		WorkerPid: v.WorkerPID, OldWorkers: v.OldWorkers, Reloads: v.Reloads, Drifts: v.Drifts, WorkerRestarts: v.WorkerRestarts,
		LastHeard: showTime(v.LastHeard), Address: v.Address,
	}
	if head != nil {
		out.Lag = v.Lag(newest.Generation)
	}
	if v.Connected {
		out.ConnectedSince = showTime(v.ConnectedSince)
	}
	if v.Latency > 0 {
		out.LastLatency = durationpb.New(v.Latency)
	}
	for _, c := range v.Capabilities {
		out.Capabilities = append(out.Capabilities, strings.ToLower(strings.TrimPrefix(c.String(), "CAPABILITY_")))
	}
	out.ExceptedTotal = uint32(len(v.Excepted)) //nolint:gosec // At most wire.MaxExcepted.
	for _, e := range v.Excepted[:min(len(v.Excepted), maxExcepted)] {
		out.Excepted = append(out.Excepted, &adminv1.ExceptedSlot{
			Backend: e.Backend, Slot: uint32(e.Slot), Code: wire.CodeName(e.Code), Message: e.Message, //nolint:gosec // At most snapshot.MaxSlots.
		})
	}
	why := obstacle(v, newest)
	out.Code, out.Message = wire.CodeName(why.Code), why.Message
	return out
}

// obstacle is what keeps the node from the newest, if something does.
func obstacle(v node.View, newest wire.Marks) node.Problem {
	if v.Waiting.Code != 0 {
		return v.Waiting
	}
	if why, rejected := v.Rejected(newest.Revision.Digest); rejected {
		return why
	}
	return v.Failed.Problem
}

var showState = map[desired.State]adminv1.ObjectState{
	desired.Rejected: adminv1.ObjectState_OBJECT_STATE_REJECTED,
	desired.Warned:   adminv1.ObjectState_OBJECT_STATE_WARNED,
}

func showProblem(p compile.Problem) *adminv1.Object {
	return &adminv1.Object{Object: p.Object, State: showState[p.State], Reason: p.Reason, Cluster: p.Cluster}
}

func (s *Server) showSource(src store.Source) *adminv1.Source {
	out := &adminv1.Source{
		Name: src.Name, Location: s.Locations[src.Name], Synced: src.Synced, StaleSince: showTime(src.StaleSince), Error: src.Error,
		ForgottenSince: showTime(src.Forgotten), Forgotten: src.Ignored,
	}
	for _, n := range src.Rows {
		out.Objects += uint64(n) //nolint:gosec // A count.
	}
	if held, ok := s.Guard.Held(src.Name); ok {
		out.Held = &adminv1.HeldRemoval{
			Objects: uint32(held.Objects), Backends: uint32(held.Backends), //nolint:gosec // Counts.
			Names: held.Names, Since: showTime(held.Since), Until: showTime(held.Until),
		}
	}
	return out
}
