package stream

import (
	"context"
	"encoding/binary"
	"io"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/adoption"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// recorded is a stream that says what it was made with and then hangs up. What the plane sends is dropped.
type recorded struct {
	grpc.ServerStream
	ctx      context.Context
	messages []*fleetv1.SyncRequest
}

func (r *recorded) Context() context.Context         { return r.ctx }
func (r *recorded) SendMsg(any) error                { return nil }
func (r *recorded) Send(*fleetv1.SyncResponse) error { return nil }
func (r *recorded) Recv() (*fleetv1.SyncRequest, error) {
	if len(r.messages) == 0 {
		return nil, io.EOF
	}
	m := r.messages[0]
	r.messages = r.messages[1:]
	return m, nil
}

// script is messages as a seed has them: each with its length in front.
func script(messages ...*fleetv1.SyncRequest) []byte {
	var b []byte
	for _, m := range messages {
		one, err := proto.Marshal(m)
		if err != nil {
			panic(err)
		}
		b = binary.AppendUvarint(b, uint64(len(one)))
		b = append(b, one...)
	}
	return b
}

// parse is the inverse of script, and takes anything.
func parse(b []byte) []*fleetv1.SyncRequest {
	var messages []*fleetv1.SyncRequest
	for len(b) > 0 && len(messages) < 64 {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			break
		}
		m := &fleetv1.SyncRequest{}
		if proto.Unmarshal(b[n:n+int(size)], m) == nil {
			messages = append(messages, m)
		}
		b = b[n+int(size):]
	}
	return messages
}

// FuzzSync: whatever a node says in whatever order, its stream ends with a status when it hangs up or before, the plane's epoch stays one that
// can be counted on from, and the record of the node is there (STREAM-7).
func FuzzSync(f *testing.F) {
	version := snapshot.Version{Epoch: 1, Number: 1}
	head := state{snapshot.EmptyRevision().Apply(revision("web", "roundrobin"), version), snapshot.EmptyGeneration().Apply(generation("web", 0, 1), version)}
	other := foreignState()
	hello := func(s state, change func(*fleetv1.Hello)) *fleetv1.SyncRequest {
		h := &fleetv1.Hello{Fleet: "edge", Node: "a", Held: s.marks().Proto(), Applied: s.marks().Proto(), Epoch: 1}
		change(h)
		return &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Hello{Hello: h}}
	}
	plain := func(*fleetv1.Hello) {}
	received := func(id uint64, code fleetv1.Code, s state) *fleetv1.SyncRequest {
		return &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Received{Received: &fleetv1.Received{Id: id, Code: code, Held: s.marks().Proto(), Epoch: 1}}}
	}
	question := &fleetv1.AskBuckets{Revision: true, Generation: true}
	f.Add(script(hello(nothing(), plain), received(1, fleetv1.Code_CODE_OK, head),
		&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Applied{Applied: &fleetv1.Applied{Applied: head.marks().Proto(), By: fleetv1.By_BY_RELOAD}}}))
	f.Add(script(hello(other, plain),
		&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Buckets{Buckets: wire.Buckets(question, other.rev, other.gen)}},
		received(1, fleetv1.Code_CODE_DIGEST_MISMATCH, other), received(2, fleetv1.Code_CODE_OK, head)))
	f.Add(script(hello(head, func(h *fleetv1.Hello) { h.Dirty, h.Epoch = true, 9 }), received(1, fleetv1.Code_CODE_OLD_EPOCH, head),
		&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Rejected{Rejected: &fleetv1.Rejected{Revision: head.marks().Revision.Proto()}}},
		&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Failed{Failed: &fleetv1.Failed{Wanted: head.marks().Proto(), Code: fleetv1.Code_CODE_BIND}}},
		&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Observed{Observed: &fleetv1.Observed{Dirty: true}}},
		&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Heartbeat{Heartbeat: &fleetv1.Heartbeat{}}}, frame(1, true, "web")))
	f.Add(script(hello(nothing(), func(h *fleetv1.Hello) { h.Fleet = "unknown" })))
	f.Add(script(&fleetv1.SyncRequest{}, hello(nothing(), plain)))
	for _, fleet := range []string{"starting", "frozen"} {
		messages := []*fleetv1.SyncRequest{hello(serving(), func(h *fleetv1.Hello) { h.Fleet = fleet })}
		for _, p := range wire.PositionFrames(serving().gen, 100) {
			messages = append(messages, &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Positions{Positions: p}})
		}
		f.Add(script(append(messages, received(1, fleetv1.Code_CODE_OK, serving()))...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fleets := changelog.NewDirectory()
		log := changelog.New(changelog.Limits{})
		log.Publish(revision("web", "roundrobin"), generation("web", 0, 1), time.Now(), time.Now())
		learns := adoption.New(adoption.Timing{}, func() {})
		fleets.Set(map[string]changelog.Fleet{
			"edge":     {Name: "edge", Log: log},
			"starting": {Name: "starting", Log: log, Adopting: true, Adoption: learns},
			"frozen":   {Name: "frozen", Log: log, Frozen: true, Waiting: "source far", Adoption: learns},
		})
		server := New(Config{Fleets: fleets, Nodes: node.New(time.Now), Log: zerolog.Nop(), Timing: quick})
		err := server.Sync(&recorded{ctx: t.Context(), messages: parse(b)})
		if code := status.Code(err); code == codes.Unknown {
			t.Errorf("the stream ended without a status: %v", err)
		}
		server.Close()
		if h := log.Head(); h.Epoch > changelog.MaxEpoch || h.Revision.Version.Epoch != h.Epoch {
			t.Errorf("epoch %d with revision %v", h.Epoch, h.Revision.Version)
		}
		for _, v := range server.config.Nodes.List("") {
			if v.Connected {
				t.Errorf("node %v is still connected", v.Key)
			}
		}
	})
}
