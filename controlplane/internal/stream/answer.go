package stream

import (
	"slices"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// receive takes in a message of the node. The error is the status that the stream ends with.
func (x *session) receive(m *fleetv1.SyncRequest) error {
	x.lastHeard = time.Now()
	x.record.Heard()
	if err := wire.CheckRequest(m); err != nil {
		return invalid(err)
	}
	switch m := m.GetMessage().(type) {
	case *fleetv1.SyncRequest_Hello:
		return status.Error(codes.InvalidArgument, "a second Hello")
	case *fleetv1.SyncRequest_Received:
		return x.received(m.Received)
	case *fleetv1.SyncRequest_Buckets:
		return x.buckets(m.Buckets)
	case *fleetv1.SyncRequest_Applied:
		return x.applied(m.Applied)
	case *fleetv1.SyncRequest_Rejected:
		return x.refused(m.Rejected)
	case *fleetv1.SyncRequest_Failed:
		x.failedAt(m.Failed)
	case *fleetv1.SyncRequest_Observed:
		x.record.Observed(m.Observed)
	case *fleetv1.SyncRequest_Positions:
		return x.positions(m.Positions)
	case *fleetv1.SyncRequest_Inspected:
		return x.answered(m.Inspected)
	default: // a heartbeat, or a message that is newer than this plane
	}
	return nil
}

// received ends a flight.
func (x *session) received(m *fleetv1.Received) error {
	if x.flight == nil || x.flight.sent.IsZero() || m.GetId() != x.flight.id {
		return status.Errorf(codes.InvalidArgument, "Received for update %d, which is not in flight", m.GetId())
	}
	held, err := wire.MarksFrom(m.GetHeld())
	if err != nil {
		return invalid(err)
	}
	if err := checkVersions(m.GetEpoch(), held); err != nil {
		return err
	}
	landed := x.flight
	x.flight, x.held = nil, held
	x.record.Received(m)
	if m.GetCode() == fleetv1.Code_CODE_OK && reached(landed.to, held) {
		x.keep(landed.kept)
		x.trust, x.retry, x.asked = trustMarks, retry{}, buckets{}
		return nil
	}
	x.confirm = x.confirm || landed.confirms
	switch m.GetCode() {
	case fleetv1.Code_CODE_OK:
		return x.distrust(m, trustNothing)
	case fleetv1.Code_CODE_OLD_EPOCH:
		return x.oldEpoch(m)
	case fleetv1.Code_CODE_BASE_MISMATCH:
		return x.distrust(m, trustMarksAgain)
	case fleetv1.Code_CODE_DIGEST_MISMATCH, fleetv1.Code_CODE_INVALID:
		return x.distrust(m, trustNothing)
	default:
		x.problem("node could not take an update; it is sent again", m.GetCode(), m.GetMessage())
		x.retry.later(time.Now(), x.server.timing)
	}
	return nil
}

// distrust makes the next update rely on less: at least on no more than the least that it is given.
func (x *session) distrust(m *fleetv1.Received, least trust) error {
	x.trust = max(x.trust+1, least)
	x.problem("an update did not fit what the node holds", m.GetCode(), m.GetMessage())
	if x.fleet.Frozen {
		// Buckets and everything would take from it what it keeps: what it holds has to be told anew.
		return status.Errorf(codes.Aborted, "node %s does not hold what it has told, and the plane is frozen: %s %s; connect again", x.key.Name,
			wire.CodeName(m.GetCode()), m.GetMessage())
	}
	if x.trust >= trustLost {
		return status.Errorf(codes.Internal, "node %s has not even taken an update with everything: %s %s", x.key.Name, wire.CodeName(m.GetCode()), m.GetMessage())
	}
	return nil
}

// oldEpoch raises the fleet's epoch, after which the update is sent again under its new version.
func (x *session) oldEpoch(m *fleetv1.Received) error {
	if x.head == nil {
		return nil
	}
	before := x.head.Epoch
	if x.head = x.fleet.Log.RaiseEpoch(m.GetEpoch()); x.head.Epoch == before {
		// It was told of an epoch that it cannot refuse.
		return x.distrust(m, trustMarksAgain)
	}
	x.log.Info().Uint64("epoch", x.head.Epoch).Msg("the epoch was raised above one that the node has seen")
	return nil
}

// buckets sends what differs by the node's bucket digests.
func (x *session) buckets(m *fleetv1.Buckets) error {
	if x.asked.since.IsZero() {
		return status.Error(codes.InvalidArgument, "Buckets that were not asked for")
	}
	x.asked.since = time.Time{}
	held, err := wire.MarksFrom(m.GetHeld())
	if err != nil {
		return invalid(err)
	}
	if err := checkVersions(0, held); err != nil {
		return err
	}
	x.held = held
	if x.head == nil || x.waiting.Code != 0 {
		return nil
	}
	want := x.wantRevision(x.head)
	rev := x.head.Revision
	if !want {
		rev = nil
	}
	u, err := wire.Replace(m, rev, x.head.Generation)
	if err != nil {
		return invalid(err)
	}
	if !u.ChangesRevision() && !u.ChangesGeneration() {
		return status.Error(codes.InvalidArgument, "Buckets without the digests that were asked for")
	}
	shared, err := wire.Share(u)
	if err != nil {
		x.log.Error().Err(err).Msg("an update cannot be sent; the node keeps what it has")
		x.retry.later(time.Now(), x.server.timing)
		return nil
	}
	x.launch(shared, want)
	x.flight.to = u.To
	return nil
}

// applied takes in what the worker has been read to have.
func (x *session) applied(m *fleetv1.Applied) error {
	marks, err := wire.MarksFrom(m.GetApplied())
	if err != nil {
		return invalid(err)
	}
	if err := checkVersions(0, marks); err != nil {
		return err
	}
	latency := x.latency(m)
	x.record.Applied(m, latency)
	if latency > 0 && x.server.config.Applied != nil {
		x.server.config.Applied(m.GetBy(), latency)
	}
	if e := m.GetExcepted(); x.exceptedAnew(e) {
		x.complain("node could not take some slots", func(line *zerolog.Event) {
			line.Int("slots", len(e)).Str("backend", e[0].GetBackend()).Uint32("slot", e[0].GetSlot()).Str("code", wire.CodeName(e[0].GetCode())).
				Str("reason", e[0].GetMessage())
		})
	}
	return nil
}

// excepted is a slot that a node could not take.
type excepted struct {
	backend string
	slot    uint32
	code    fleetv1.Code
}

// exceptedAnew says whether there are others than last time: every Applied tells them again, and once is enough for a log.
func (x *session) exceptedAnew(list []*fleetv1.ExceptedSlot) bool {
	now := make([]excepted, len(list))
	for i, e := range list {
		now[i] = excepted{e.GetBackend(), e.GetSlot(), e.GetCode()}
	}
	if slices.Equal(now, x.excepted) {
		return false
	}
	x.excepted = now
	return len(now) > 0
}

// latency is how long the oldest change took from its source to here, by this machine's clock. A time from before this plane's start was given by
// another one, perhaps of another machine, and tells nothing.
func (x *session) latency(m *fleetv1.Applied) time.Duration {
	seen := m.GetSeen()
	if seen == nil || !seen.IsValid() || seen.AsTime().Before(x.server.started) {
		return 0
	}
	return max(time.Since(seen.AsTime()), 0)
}

// refused remembers a revision that HAProxy does not take.
func (x *session) refused(m *fleetv1.Rejected) error {
	digest, err := snapshot.DigestFromBytes(m.GetRevision().GetDigest())
	if err != nil {
		return invalid(err)
	}
	if len(x.rejected) >= wire.MaxRejected {
		clear(x.rejected) // a node that refuses so many is sent some of them once more
	}
	x.rejected[digest] = struct{}{}
	x.record.Rejected(m)
	x.complain("node's HAProxy refused the revision", func(line *zerolog.Event) {
		line.Str("revision", digest.Short()).Str("code", wire.CodeName(m.GetCode())).Str("reason", m.GetMessage())
	})
	return nil
}

// failedAt takes in that something stands in the node's way. The node tries again by itself.
func (x *session) failedAt(m *fleetv1.Failed) {
	x.record.Failed(m)
	x.problem("node has failed and tries again", m.GetCode(), m.GetMessage())
}

// problem logs what went wrong at a node.
func (x *session) problem(what string, code fleetv1.Code, message string) {
	x.complain(what, func(line *zerolog.Event) { line.Str("code", wire.CodeName(code)).Str("reason", message) })
}

// A node that complains without end fills no log: complaintsAtOnce lines, and then one each complaintEvery.
const (
	complaintEvery   = 10 * time.Second
	complaintsAtOnce = 20
)

// complain writes a line about what a node has said, unless there were too many.
func (x *session) complain(what string, fields func(line *zerolog.Event)) {
	if !x.complaints.admit(time.Now()) {
		x.untold++
		return
	}
	untold := x.untold
	x.untold = 0
	x.log.Warn().Func(fields).Func(func(line *zerolog.Event) {
		if untold > 0 {
			line.Int("left_out", untold)
		}
	}).Msg(what)
}

// NodeError is what a node says instead of an answer.
type NodeError struct{ node.Problem }

func (e *NodeError) Error() string { return wire.CodeName(e.Code) + ": " + e.Message }
