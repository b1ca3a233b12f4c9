package simnode

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// answer takes an update and says so, as a node whose worker has it at once.
func (s *session) answer(u wire.Update, confirms bool) error {
	n := s.node
	held, epoch, err := n.take(u, confirms)
	received := &fleetv1.Received{Id: u.ID, Code: wire.CodeOf(err), Held: held.Proto(), Epoch: epoch}
	if err != nil {
		received.Message = wire.Text(err.Error())
	}
	if err := s.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Received{Received: received}}); err != nil || received.GetCode() != fleetv1.Code_CODE_OK {
		return err
	}
	applied := &fleetv1.Applied{Applied: held.Proto(), Worker: worker, By: fleetv1.By_BY_RUNTIME, Haproxy: haproxy}
	if !u.Seen.IsZero() {
		applied.Seen = timestamppb.New(u.Seen)
	}
	if n.options.Applied != nil {
		n.options.Applied(n, held)
	}
	return s.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Applied{Applied: applied}})
}

// take makes an update what the node holds, if it fits.
func (n *Node) take(u wire.Update, confirms bool) (wire.Marks, uint64, error) {
	n.mu.Lock()
	held := n.held
	var err error
	older := false
	switch {
	case u.To.Epoch() < n.epoch:
		err = &wire.Error{Code: fleetv1.Code_CODE_OLD_EPOCH, Object: "update", Reason: "its epoch is below one that was seen"}
	case n.options.MarksOnly:
		older = leadsBack(u, held)
		err = n.takeMarks(u)
	default:
		older = leadsBack(u, held)
		err = n.takeContent(u)
	}
	n.epoch = max(n.epoch, n.held.Epoch())
	after, epoch := n.held, n.epoch
	n.mu.Unlock()
	if older && !confirms {
		n.violated("an update leads from what it holds, %v, to the older %v", held, u.To)
	}
	return after, epoch, err
}

// leadsBack says whether an update leads a clock to something older.
func leadsBack(u wire.Update, held wire.Marks) bool {
	older := func(to, held wire.Mark) bool { return !to.Version.IsZero() && to.Version.Compare(held.Version) < 0 }
	return older(u.To.Revision, held.Revision) || older(u.To.Generation, held.Generation)
}

func (n *Node) takeContent(u wire.Update) error {
	rev, gen, err := u.Apply(n.rev, n.gen)
	if err != nil {
		return err //nolint:wrapcheck // Its code is the answer.
	}
	n.rev, n.gen = rev, gen
	n.held = wire.MarksOf(rev, gen)
	return nil
}

func (n *Node) takeMarks(u wire.Update) error {
	for _, clock := range []struct {
		from, to wire.Mark
		held     *wire.Mark
	}{{u.From.Revision, u.To.Revision, &n.held.Revision}, {u.From.Generation, u.To.Generation, &n.held.Generation}} {
		if clock.to.Version.IsZero() {
			continue
		}
		if u.Scope != fleetv1.Scope_SCOPE_EVERYTHING && clock.from.Digest != clock.held.Digest {
			return &wire.Error{Code: fleetv1.Code_CODE_BASE_MISMATCH, Object: "update", Reason: "it starts from something else"}
		}
		*clock.held = clock.to
	}
	return nil
}

// Generation is what the node holds of the fast clock, for those that hold content.
func (n *Node) Generation() *snapshot.Generation {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.gen
}
