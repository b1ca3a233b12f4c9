package stream

import (
	"testing"

	"google.golang.org/grpc/codes"

	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Two streams of one name: a node whose old connection hangs, or two machines that were given the same name. The newest wins (STREAM-6).

func TestTheNewestStreamWins(t *testing.T) {
	p := startPlane(t, quick)
	head := p.revise("web", "roundrobin")
	first := p.connect(nothing())
	first.welcome()
	u := first.update()
	second := p.connect(stateOf(head))
	second.welcome()
	first.received(u, fleetv1.Code_CODE_OK)
	first.endsWith(codes.Aborted)
	p.view("the second's", func(v view) bool { return v.Connected && v.Applied == head.Marks() })
	next := p.fill("web", 0, 1)
	second.take()
	second.has(next)
	second.quiet()
}

func TestTheSameNameInAnotherFleetIsAnotherNode(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	a := p.connect(nothing())
	a.welcome()
	b := p.connect(nothing(), func(h *fleetv1.Hello) { h.Fleet = "core" })
	if w := b.welcome(); w.GetWaiting() != fleetv1.Code_CODE_UNKNOWN_FLEET {
		t.Errorf("welcome: %v", w)
	}
	a.take()
	a.quiet()
	b.quiet()
}
