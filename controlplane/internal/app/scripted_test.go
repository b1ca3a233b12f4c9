package app

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// scripted is a node over real gRPC that holds what it is sent.
type scripted struct {
	t      *testing.T
	stream grpc.BidiStreamingClient[fleetv1.SyncRequest, fleetv1.SyncResponse]
	cancel context.CancelFunc
	rev    *snapshot.Revision
	gen    *snapshot.Generation
	frames wire.Assembler
	// updates counts those that came, with their bytes.
	updates, bytes int
}

func dial(t *testing.T, address string, c credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(c))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (n *scripted) connect(conn *grpc.ClientConn) error {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patienceOfTests)
	n.cancel = cancel
	n.t.Cleanup(cancel)
	stream, err := fleetv1.NewFleetServiceClient(conn).Sync(ctx)
	if err != nil {
		return err
	}
	n.stream, n.frames, n.updates, n.bytes = stream, wire.Assembler{}, 0, 0
	marks := wire.MarksOf(n.rev, n.gen)
	if err := stream.Send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Hello{Hello: &fleetv1.Hello{
		Fleet: "default", Node: "a", Held: marks.Proto(), Applied: marks.Proto(), Epoch: marks.Epoch(),
	}}}); err != nil {
		return err
	}
	m, err := stream.Recv()
	if err == nil && m.GetWelcome() == nil {
		n.t.Fatalf("no Welcome, but %v", m)
	}
	return err
}

// until takes updates until the table of shop_web_80 has these addresses.
func (n *scripted) until(want string) {
	n.t.Helper()
	for n.table() != want {
		m, err := n.stream.Recv()
		if err != nil {
			n.t.Fatalf("before the table was %s: %v; it is %s", want, err, n.table())
		}
		if m.GetUpdate() == nil {
			continue
		}
		n.bytes += len(m.String())
		u, complete, err := n.frames.Add(m.GetUpdate())
		if err != nil {
			n.t.Fatal(err)
		}
		if !complete {
			continue
		}
		n.updates++
		if n.rev, n.gen, err = u.Apply(n.rev, n.gen); err != nil {
			n.t.Fatal(err)
		}
		held := wire.MarksOf(n.rev, n.gen)
		for _, r := range []*fleetv1.SyncRequest{
			{Message: &fleetv1.SyncRequest_Received{Received: &fleetv1.Received{Id: u.ID, Code: fleetv1.Code_CODE_OK, Held: held.Proto(), Epoch: held.Epoch()}}},
			{Message: &fleetv1.SyncRequest_Applied{Applied: &fleetv1.Applied{Applied: held.Proto(), By: fleetv1.By_BY_RUNTIME, Seen: m.GetUpdate().GetSeen()}}},
		} {
			if err := n.stream.Send(r); err != nil {
				n.t.Fatal(err)
			}
		}
	}
}

func (n *scripted) table() string {
	t := n.gen.Table("shop_web_80")
	if t == nil {
		return "none"
	}
	var words []string
	for _, s := range t.Slots {
		if s.State == snapshot.Ready {
			words = append(words, s.Address.String())
		} else {
			words = append(words, s.State.String())
		}
	}
	return strings.Join(words, " ")
}

// next takes one more update, or answers a question.
func (n *scripted) next() {
	n.t.Helper()
	m, err := n.stream.Recv()
	if err != nil {
		n.t.Fatal(err)
	}
	if ask := m.GetAskBuckets(); ask != nil {
		buckets := &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Buckets{Buckets: wire.Buckets(ask, n.rev, n.gen)}}
		if err := n.stream.Send(buckets); err != nil {
			n.t.Fatal(err)
		}
		return
	}
	if m.GetAskPositions() != nil {
		for _, p := range wire.PositionFrames(n.gen, 0) {
			if err := n.stream.Send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Positions{Positions: p}}); err != nil {
				n.t.Fatal(err)
			}
		}
		return
	}
	u, complete, err := n.frames.Add(m.GetUpdate())
	if m.GetUpdate() == nil || !complete || err != nil {
		return
	}
	if n.rev, n.gen, err = u.Apply(n.rev, n.gen); err != nil {
		n.t.Fatal(err)
	}
	held := wire.MarksOf(n.rev, n.gen)
	answer := &fleetv1.Received{Id: u.ID, Code: fleetv1.Code_CODE_OK, Held: held.Proto(), Epoch: held.Epoch()}
	if err := n.stream.Send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Received{Received: answer}}); err != nil {
		n.t.Fatal(err)
	}
}
