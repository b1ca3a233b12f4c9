package stream

import (
	"testing"

	"google.golang.org/grpc/codes"

	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// The plane shuts down. Every stream ends, also that of a node that does not read, and nothing is left (STREAM-9; TestMain looks for goroutines).

func TestClose(t *testing.T) {
	p := startPlane(t, quick)
	p.fillLarge()
	stalled := p.stalled("stalled")
	silent := p.open(p.clients)
	c := p.connect(stateOf(p.log.Head()))
	c.welcome()
	c.quiet()
	p.server.Close()
	c.endsWith(codes.Unavailable)
	silent.endsWith(codes.Unavailable)
	stalled.endsWith(codes.Unavailable)
	p.open(p.clients).endsWith(codes.Unavailable)
	p.server.Close() // again
}

// A plane that is closed has told everybody that their nodes are gone: nothing of a stream happens after Close.
func TestCloseDisconnectsTheNodes(t *testing.T) {
	p := startPlane(t, quick)
	head := p.revise("web", "roundrobin")
	for range 20 {
		c := p.connect(stateOf(head), func(h *fleetv1.Hello) { h.Node = "a" })
		c.welcome()
	}
	p.server.Close()
	for _, v := range p.nodes.List("") {
		if v.Connected {
			t.Errorf("node %s is connected", v.Name)
		}
	}
}
