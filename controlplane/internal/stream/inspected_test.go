package stream

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// An answer to an Inspect is bounded in all of its frames, and whoever asked is told (STREAM-7).
func TestAnAnswerWithoutEnd(t *testing.T) {
	p := startPlane(t, quick)
	head := p.revise("web", "roundrobin")
	c := p.connect(stateOf(head))
	c.welcome()
	p.view("connected", func(v view) bool { return v.Connected })
	asked := make(chan error, 1)
	go func() {
		_, err := p.server.Inspect(t.Context(), node.Key{Fleet: "edge", Name: "a"}, nil)
		asked <- err
	}()
	id := c.next().GetInspect().GetId()
	frame := &fleetv1.Inspected{Id: id, Code: fleetv1.Code_CODE_OK, Backends: []*fleetv1.InspectedBackend{{Backend: strings.Repeat("x", 3<<20)}}}
	for range maxInspected/(3<<20) + 1 {
		c.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Inspected{Inspected: frame}})
	}
	c.endsWith(codes.ResourceExhausted)
	if err := <-asked; !errors.Is(err, ErrTooLarge) {
		t.Errorf("who asked is told %v", err)
	}
}
