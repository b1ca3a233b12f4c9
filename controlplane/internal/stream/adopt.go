package stream

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/adoption"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// adopting is what a session has of the plane's start: whom it reports to, the question for positions, and what its node keeps while the fleet is frozen.
type adopting struct {
	fleet  *adoption.Fleet
	holder *adoption.Holder
	// asked says that the node was asked on this stream, since is from when on the answer is due.
	asked     bool
	since     time.Time
	assembler wire.PositionAssembler
	// kept are the tables that the node holds beside those of the log, nil while that is not known or the fleet is not frozen.
	kept *changelog.Kept
}

// learn reports the node where the plane learns which slot is whose, if it does.
func (x *session) learn() {
	if x.fleet.Adoption == x.adopting.fleet {
		return
	}
	x.unlearn()
	if x.adopting.fleet = x.fleet.Adoption; x.adopting.fleet != nil {
		x.adopting.holder = x.adopting.fleet.Meet(x.held, !x.adopting.asked && x.updates == 0, time.Now())
	}
}

func (x *session) unlearn() {
	if x.adopting.holder != nil {
		x.adopting.holder.Leave(time.Now())
	}
	x.adopting.fleet, x.adopting.holder, x.adopting.assembler = nil, nil, wire.PositionAssembler{}
}

// asks is closed when the node is to be asked for its positions; nil when it is not to be any more.
func (x *session) asks() <-chan struct{} {
	if x.adopting.holder == nil || x.adopting.asked {
		return nil
	}
	return x.adopting.holder.Asked()
}

// answers is closed when it is known what tables the node holds; nil unless it waits for that.
func (x *session) answers() <-chan struct{} {
	if x.adopting.holder == nil || !x.fleet.Frozen || x.adopting.kept != nil || x.held.Revision.Digest.IsZero() {
		return nil
	}
	if _, known := x.adopting.holder.Holdings(); known {
		return nil
	}
	return x.adopting.holder.Answered()
}

// askPositions puts the question.
func (x *session) askPositions(now time.Time) {
	x.adopting.asked, x.adopting.since = true, now
	x.control = append(x.control, &fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_AskPositions{AskPositions: &fleetv1.AskPositions{}}})
}

// positions takes in a frame of the answer.
func (x *session) positions(m *fleetv1.Positions) error {
	a := &x.adopting
	if a.since.IsZero() {
		return status.Error(codes.InvalidArgument, "Positions that were not asked for")
	}
	if a.late() {
		a.drop()
		if m.GetLast() {
			a.since = time.Time{}
		}
		return nil
	}
	if !a.holder.Keep(sizeOf(m)) {
		return status.Errorf(codes.ResourceExhausted, "the answers of fleet %s are too large together; connect again", x.key.Fleet)
	}
	told, complete, err := a.assembler.Add(m)
	if err != nil {
		return invalid(err)
	}
	if !complete {
		return nil
	}
	a.since, a.assembler = time.Time{}, wire.PositionAssembler{}
	if told.Generation != x.held.Generation {
		return status.Errorf(codes.InvalidArgument, "Positions of generation %s %s, but the node holds %s %s", told.Generation.Version, told.Generation.Digest.Short(),
			x.held.Generation.Version, x.held.Generation.Digest.Short())
	}
	highest := told.Generation.Version
	for _, t := range told.Tables {
		if t.Version.Compare(highest) > 0 {
			highest = t.Version
		}
	}
	if err := checkVersions(highest.Epoch, wire.Marks{Generation: wire.Mark{Version: highest}}); err != nil {
		return err
	}
	a.holder.Answer(told, time.Now())
	return nil
}

// late says that nobody waits for the answer any longer: the plane has gone on without it, or another node that holds the same was faster.
func (a *adopting) late() bool {
	if a.holder == nil {
		return true
	}
	_, known := a.holder.Holdings()
	return known
}

// drop lets go of what there is of the answer.
func (a *adopting) drop() {
	a.assembler = wire.PositionAssembler{}
	if a.holder != nil {
		a.holder.Drop()
	}
}

// sizeOf is about what a frame of an answer costs in memory once it is taken apart: small slots and tables take more there than on the wire.
func sizeOf(m *fleetv1.Positions) int {
	size := proto.Size(m)
	for _, t := range m.GetTables() {
		size += 256 + 96*len(t.GetSlots())
	}
	return size
}

// frozen is why a node of a frozen fleet waits, and whether endpoints flow to it all the same.
func (x *session) frozen() (why node.Problem, flows bool) {
	why = node.Problem{Code: fleetv1.Code_CODE_FROZEN, Message: x.fleet.Waiting}
	switch {
	case x.held.Revision.Digest.IsZero():
		why.Message += "; the node has no revision yet"
		return why, false
	case x.adopting.kept != nil:
		return why, true
	}
	if x.adopting.holder != nil {
		if _, known := x.adopting.holder.Holdings(); known {
			return why, true
		}
	}
	why.Message += "; the node has not told what it holds"
	return why, false
}

// offerKept leads a node of a frozen fleet to the newest tables of the sources that were read, beside those that it keeps.
func (x *session) offerKept() error {
	var step changelog.Step
	var err error
	if x.adopting.kept == nil {
		tables, _ := x.adopting.holder.Holdings()
		step, err = x.fleet.Log.Join(x.held.Generation.Digest, tables)
	} else {
		known := false
		if step, known, err = x.fleet.Log.SinceKept(x.held.Generation.Digest, x.adopting.kept); err == nil && !known {
			return status.Error(codes.Unavailable, "the plane no longer remembers what the node holds, and is frozen; connect again")
		}
	}
	if err != nil {
		return err
	}
	x.head = step.Head
	to := wire.Marks{Generation: step.To}
	if step.Update == nil {
		x.keep(step.Kept)
		if !x.confirm {
			return nil
		}
		// For a dirty node to make sure that its worker has what it holds, and to say so.
		if step.Update, err = wire.Share(wire.Update{Scope: fleetv1.Scope_SCOPE_CHANGES, From: to, To: to}); err != nil {
			return err
		}
	}
	x.updates++
	x.flight = &flight{id: x.updates, shared: step.Update, to: to, confirms: x.confirm, kept: step.Kept}
	x.confirm = false
	return nil
}

// keep notes what the node holds beside the tables of the log, so that it can be told whether it has the newest; nil for nothing.
func (x *session) keep(kept *changelog.Kept) {
	if x.adopting.kept == kept {
		return
	}
	x.adopting.kept = kept
	if kept == nil {
		x.record.Keep(wire.Mark{}.Digest)
		return
	}
	x.record.Keep(kept.Sum())
}
