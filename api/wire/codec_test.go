package wire_test

import (
	"context"
	"net"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plane sends the same shared update to every stream, between messages that are encoded as usual.
type plane struct {
	fleetv1.UnimplementedFleetServiceServer
	shared *wire.Shared
	beat   *wire.Encoded
}

func (p *plane) Sync(stream grpc.BidiStreamingServer[fleetv1.SyncRequest, fleetv1.SyncResponse]) error {
	hello, err := stream.Recv()
	if err != nil {
		return err
	}
	if err := stream.Send(&fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Welcome{Welcome: &fleetv1.Welcome{Message: hello.GetHello().GetNode()}}}); err != nil {
		return err
	}
	for id := uint64(1); id < 200; id += 150 { // an id of one byte and one of two
		for i := range p.shared.Len() {
			if err := stream.SendMsg(p.shared.Frame(i, id)); err != nil {
				return err
			}
		}
	}
	return stream.SendMsg(p.beat)
}

// WIRE-5 over gRPC: streams that share the bytes of an update each receive it whole and with their own id, as if it had been encoded for them.
func TestWIRE5_StreamsShareBytes(t *testing.T) {
	b := sample()
	u := wire.Everything(b.rev, b.gen)
	shared, err := wire.Share(u)
	if err != nil {
		t.Fatal(err)
	}
	beat, err := wire.Encode(&fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Heartbeat{Heartbeat: &fleetv1.Heartbeat{Epoch: 5}}})
	if err != nil {
		t.Fatal(err)
	}
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.ForceServerCodecV2(wire.Codec()))
	fleetv1.RegisterFleetServiceServer(server, &plane{shared: shared, beat: beat})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	conn, err := grpc.NewClient("passthrough:plane", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, node := range []string{"node-1", "node-2"} {
		stream, err := fleetv1.NewFleetServiceClient(conn).Sync(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Hello{Hello: &fleetv1.Hello{Node: node}}}); err != nil {
			t.Fatal(err)
		}
		if m := recv(t, stream); m.GetWelcome().GetMessage() != node {
			t.Fatalf("%s is greeted with %v", node, m)
		}
		for _, id := range []uint64{1, 151} {
			var a wire.Assembler
			for i := range shared.Len() {
				f := recv(t, stream).GetUpdate()
				if len(f.ProtoReflect().GetUnknown()) > 0 || f.GetId() != id {
					t.Fatalf("frame %d has id %d, want %d, and unknown fields %x", i, f.GetId(), id, f.ProtoReflect().GetUnknown())
				}
				got, complete, err := a.Add(f)
				if err != nil || complete != (i == shared.Len()-1) {
					t.Fatalf("frame %d: complete %v (%v)", i, complete, err)
				}
				if complete {
					rev, gen, err := got.Apply(nothing.rev, nothing.gen)
					if err != nil {
						t.Fatal(err)
					}
					same(t, state{rev, gen}, b)
				}
			}
		}
		if m := recv(t, stream); m.GetHeartbeat().GetEpoch() != 5 {
			t.Fatalf("got %v, want the heartbeat", m)
		}
	}
}

func recv(t *testing.T, stream grpc.BidiStreamingClient[fleetv1.SyncRequest, fleetv1.SyncResponse]) *fleetv1.SyncResponse {
	t.Helper()
	m, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The bytes of a shared frame are a message like any other: what the hand-written head says agrees with the generated code.
func TestWIRE5_Bytes(t *testing.T) {
	u := wire.Everything(sample().rev, sample().gen)
	shared, err := wire.Share(u)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []uint64{1, 127, 128, 1 << 40, 1<<64 - 1} {
		u.ID = id
		frames, err := wire.Frames(u, 0)
		if err != nil || len(frames) != shared.Len() {
			t.Fatalf("%d frames, %d shared (%v)", len(frames), shared.Len(), err)
		}
		for i, f := range frames {
			e := shared.Frame(i, id)
			data, err := wire.Codec().Marshal(e)
			if err != nil || data.Len() != e.Size() {
				t.Fatalf("%d bytes, size %d (%v)", data.Len(), e.Size(), err)
			}
			var got fleetv1.SyncResponse
			if err := wire.Codec().Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			want := &fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Update{Update: f}}
			if !proto.Equal(&got, want) || proto.Size(want) != e.Size() {
				t.Fatalf("update %d, frame %d: %d bytes, want %d", id, i, e.Size(), proto.Size(want))
			}
		}
	}
}
