package plane_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/api/wire/wiretest"
	"github.com/berth-proxy/berth/dataplane-agent/internal/node"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plane"
	"github.com/berth-proxy/berth/dataplane-agent/internal/report"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// conversation is one stream as the scripted plane sees it.
type conversation = wiretest.Conversation

func serve(t *testing.T, script func(conversation) error) string { return wiretest.Serve(t, script) }

// holder is a node that holds what it is given.
type holder struct {
	mu       sync.Mutex
	rev      *snapshot.Revision
	gen      *snapshot.Generation
	updates  []uint64
	epoch    uint64
	inspects int
}

func newHolder() *holder {
	return &holder{rev: snapshot.EmptyRevision(), gen: snapshot.EmptyGeneration()}
}

func (h *holder) Hello() node.Hello {
	h.mu.Lock()
	defer h.mu.Unlock()
	return node.Hello{Held: wire.MarksOf(h.rev, h.gen), Revision: h.rev, Generation: h.gen, Epoch: h.epoch, HAProxyVersion: "3.4.7"}
}

func (h *holder) Deliver(_ context.Context, u wire.Update) (*fleetv1.Received, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rev, gen, err := u.Apply(h.rev, h.gen)
	if err == nil {
		h.rev, h.gen = rev, gen
		h.updates = append(h.updates, u.ID)
	}
	return &fleetv1.Received{Id: u.ID, Code: wire.CodeOf(err), Held: wire.MarksOf(h.rev, h.gen).Proto()}, nil
}

func (h *holder) Inspect(context.Context, []string) ([]*fleetv1.InspectedBackend, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inspects++
	return []*fleetv1.InspectedBackend{{Backend: "b"}}, nil
}

func (h *holder) SawEpoch(_ context.Context, e uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.epoch = max(h.epoch, e)
}

// connect runs a client against the addresses until the test ends.
func connect(t *testing.T, n plane.Node, box *report.Box, change func(*plane.Config), addresses ...string) {
	t.Helper()
	cfg := plane.Config{
		Addresses: addresses, Credentials: insecure.NewCredentials(), Fleet: "edge", Name: "n1", BootID: "boot", Version: "test",
		MinBackoff: time.Millisecond, MaxBackoff: 20 * time.Millisecond,
	}
	if change != nil {
		change(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- plane.New(cfg, n, box, zerolog.New(zerolog.NewTestWriter(t))).Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func welcome(c conversation, epoch uint64) error {
	return c.Send(&fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Welcome{Welcome: &fleetv1.Welcome{Epoch: epoch}}})
}

func sendUpdate(c conversation, u wire.Update, frameSize int) error {
	frames, err := wire.Frames(u, frameSize)
	if err != nil {
		return err
	}
	for _, f := range frames {
		if err := c.Send(&fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Update{Update: f}}); err != nil {
			return err
		}
	}
	return nil
}

// within fails the test when nothing comes in time.
func within[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(10 * time.Second):
		t.Fatalf("not within 10 s: %s", what)
		panic("unreachable")
	}
}
