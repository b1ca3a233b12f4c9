package stream

import (
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/identity"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// maxNumber bounds the numbers that a node may tell of. It is above all that a node may push a plane to (adoption.MaxNumber) by more than any plane counts, so that nobody is
// refused for what a plane has given him because another node has lied; nor is one for its epoch, which ends at changelog.MaxEpoch for planes, too.
const maxNumber = 1 << 62

// greet waits for the Hello, makes the session that of its node, and has the Welcome sent.
func (x *session) greet() error {
	timer := time.NewTimer(x.server.timing.Hello)
	defer timer.Stop()
	select {
	case m := <-x.in:
		x.lastHeard = time.Now()
		if err := wire.CheckRequest(m); err != nil {
			return invalid(err)
		}
		if m.GetHello() == nil {
			return status.Error(codes.InvalidArgument, "the first message is not a Hello")
		}
		return x.introduce(m.GetHello())
	case <-timer.C:
		return status.Errorf(codes.DeadlineExceeded, "no Hello within %s", x.server.timing.Hello)
	case err := <-x.failed:
		if errors.Is(err, io.EOF) {
			return status.Error(codes.InvalidArgument, "the stream ended before a Hello")
		}
		return err
	case <-x.server.closing:
		return errShutdown
	}
}

// introduce takes in the Hello. What the session needs later it copies: a Hello may be large, and a stream lives for months.
func (x *session) introduce(h *fleetv1.Hello) error {
	if err := identity.CheckNode(x.stream.Context(), h.GetFleet(), h.GetNode()); err != nil {
		x.server.refusals.Warn().Str("fleet", h.GetFleet()).Str("node", h.GetNode()).Str("address", x.address).AnErr("reason", err).Msg("node refused")
		return err
	}
	held, err := wire.MarksFrom(h.GetHeld())
	if err != nil {
		return invalid(err)
	}
	applied, err := wire.MarksFrom(h.GetApplied())
	if err != nil {
		return invalid(err)
	}
	if err := checkVersions(h.GetEpoch(), held, applied); err != nil {
		return err
	}
	x.key = node.Key{Fleet: h.GetFleet(), Name: h.GetNode()}
	x.log = x.log.With().Str("fleet", x.key.Fleet).Str("node", x.key.Name).Str("address", x.address).Logger()
	x.held, x.epoch, x.confirm = held, h.GetEpoch(), h.GetDirty()
	for _, r := range h.GetRejected() {
		digest, err := snapshot.DigestFromBytes(r.GetDigest())
		if err != nil {
			return invalid(err)
		}
		x.rejected[digest] = struct{}{}
	}
	x.server.enter(x, h)
	x.look()
	welcome := &fleetv1.Welcome{Waiting: x.waiting.Code, Message: wire.Text(x.waiting.Message)}
	if x.head != nil {
		welcome.Epoch = x.head.Epoch
	}
	x.control = append(x.control, &fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Welcome{Welcome: welcome}})
	return nil
}

// checkVersions refuses what no plane can have counted to.
func checkVersions(epoch uint64, marks ...wire.Marks) error {
	number := uint64(0)
	for _, m := range marks {
		for _, v := range []snapshot.Version{m.Revision.Version, m.Generation.Version} {
			epoch, number = max(epoch, v.Epoch), max(number, v.Number)
		}
	}
	switch {
	case epoch > changelog.MaxEpoch:
		return status.Errorf(codes.InvalidArgument, "%d is no epoch that a plane can have given", epoch)
	case number > maxNumber:
		return status.Errorf(codes.InvalidArgument, "%d is no number that a plane can have given", number)
	}
	return nil
}

func invalid(err error) error { return status.Error(codes.InvalidArgument, err.Error()) }

func waitMessage(hint time.Duration, code fleetv1.Code, why string) *fleetv1.SyncResponse {
	wait := &fleetv1.Wait{RetryAfter: durationpb.New(hint), Code: code, Message: why}
	return &fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Wait{Wait: wait}}
}
