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
	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// maxVersion bounds the epochs and numbers that a node may tell of. The plane goes on above them, so this is how far a node may push them: a plane that
// publishes a million times a second from there on has still 292,000 years until 2^63, and the numbers stay exact where JSON makes floats of them.
const maxVersion = 1 << 53

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

// checkVersions refuses what no plane has ever counted to.
func checkVersions(epoch uint64, marks ...wire.Marks) error {
	highest := epoch
	for _, m := range marks {
		for _, v := range []snapshot.Version{m.Revision.Version, m.Generation.Version} {
			highest = max(highest, v.Epoch, v.Number)
		}
	}
	if highest > maxVersion {
		return status.Errorf(codes.InvalidArgument, "%d is no epoch or number that a plane can have given", highest)
	}
	return nil
}

func invalid(err error) error { return status.Error(codes.InvalidArgument, err.Error()) }

func waitMessage(hint time.Duration, code fleetv1.Code, why string) *fleetv1.SyncResponse {
	wait := &fleetv1.Wait{RetryAfter: durationpb.New(hint), Code: code, Message: why}
	return &fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Wait{Wait: wait}}
}
