package stream

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// The plane asks a node for its worker's own answer.

var a = node.Key{Fleet: "edge", Name: "a"}

func frame(id uint64, last bool, backends ...string) *fleetv1.SyncRequest {
	m := &fleetv1.Inspected{Id: id, Last: last, Code: fleetv1.Code_CODE_OK}
	for _, b := range backends {
		m.Backends = append(m.Backends, &fleetv1.InspectedBackend{Backend: b})
	}
	return &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Inspected{Inspected: m}}
}

func TestInspect(t *testing.T) {
	p := startPlane(t, quick)
	head := p.revise("web", "roundrobin")
	c := p.connect(stateOf(head))
	c.welcome()
	p.view("connected", func(v view) bool { return v.Connected })

	type answer struct {
		backends []*fleetv1.InspectedBackend
		err      error
	}
	answers := make(chan answer, 2)
	var asking sync.WaitGroup
	defer asking.Wait()
	ask := func(ctx context.Context, backends ...string) {
		asking.Go(func() {
			got, err := p.server.Inspect(ctx, a, backends)
			answers <- answer{got, err}
		})
	}
	ask(t.Context(), "web", "shop")
	q := c.next().GetInspect()
	if len(q.GetBackends()) != 2 {
		t.Fatalf("asked for %v", q)
	}
	ask(t.Context())
	c.quiet() // the second question waits for the answer to the first
	next := p.fill("web", 0, 1)
	c.take() // and updates wait for neither
	c.has(next)
	c.send(frame(q.GetId(), false, "shop"))
	c.send(frame(q.GetId(), true, "web"))
	if got := <-answers; got.err != nil || len(got.backends) != 2 || got.backends[1].GetBackend() != "web" {
		t.Errorf("answered %v, %v", got.backends, got.err)
	}
	q = c.next().GetInspect()
	refusal := frame(q.GetId(), true)
	refusal.GetInspected().Code, refusal.GetInspected().Message = fleetv1.Code_CODE_UNREACHABLE, "no socket"
	c.send(refusal)
	var refused *NodeError
	if got := <-answers; !errors.As(got.err, &refused) || refused.Code != fleetv1.Code_CODE_UNREACHABLE {
		t.Errorf("refused: %v", got.err)
	}

	// Who asked goes away; the node answers all the same, and the next question is put.
	ctx, cancel := context.WithCancel(t.Context())
	ask(ctx)
	q = c.next().GetInspect()
	cancel()
	if got := <-answers; !errors.Is(got.err, context.Canceled) {
		t.Errorf("cancelled: %v", got.err)
	}
	c.send(frame(q.GetId(), true))
	ask(t.Context())
	c.send(frame(c.next().GetInspect().GetId(), true, "web"))
	if got := <-answers; got.err != nil {
		t.Errorf("after a question that was given up: %v", got.err)
	}

	// The stream ends under the question.
	ask(t.Context())
	c.next()
	c.cancel()
	if got := <-answers; !errors.Is(got.err, ErrNotConnected) {
		t.Errorf("the node has gone: %v", got.err)
	}
	if _, err := p.server.Inspect(t.Context(), node.Key{Fleet: "edge", Name: "b"}, nil); !errors.Is(err, ErrNotConnected) {
		t.Errorf("a node that never was: %v", err)
	}
}

func TestANodeThatDoesNotAnswerAnInspect(t *testing.T) {
	timing := quick
	timing.Progress = time.Second
	p := startPlane(t, timing)
	head := p.revise("web", "roundrobin")
	c := p.connect(stateOf(head))
	c.beat(20 * time.Millisecond)
	c.welcome()
	p.view("connected", func(v view) bool { return v.Connected })
	if _, err := p.server.Inspect(t.Context(), a, nil); !errors.Is(err, ErrNotConnected) {
		t.Errorf("not answered: %v", err)
	}
	c.endsWith(codes.DeadlineExceeded)
}
