package stream

import (
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// A node that cannot be served yet is told why, is shown as waiting, and is served as soon as it can be (STREAM-8).

func waits(code fleetv1.Code) func(view) bool {
	return func(v view) bool { return v.Waiting.Code == code && v.State(v.Held) == node.Waiting }
}

func TestAnUnknownFleet(t *testing.T) {
	p := startPlane(t, quick)
	p.fleets.Set(nil)
	c := p.connect(nothing())
	if w := c.welcome(); w.GetWaiting() != fleetv1.Code_CODE_UNKNOWN_FLEET || w.GetMessage() == "" {
		t.Errorf("welcome: %v", w)
	}
	p.view("waiting", waits(fleetv1.Code_CODE_UNKNOWN_FLEET))
	c.quiet()
	p.log = p.newFleet("")
	p.view("waiting for something to be published", waits(fleetv1.Code_CODE_FROZEN))
	p.revise("web", "leastconn")
	c.take()
	head := p.revise("web", "roundrobin")
	c.take()
	c.has(head)
	p.view("served", func(v view) bool { return v.Waiting.Code == 0 })

	// The fleet goes, and the node keeps what it has. It comes back, with a log that counts from one.
	p.fleets.Set(nil)
	p.view("waiting again", waits(fleetv1.Code_CODE_UNKNOWN_FLEET))
	c.quiet()
	p.log = p.newFleet("")
	p.revise("web", "roundrobin")
	p.view("served again", func(v view) bool { return v.Waiting.Code == 0 })
	c.quiet()
	if epoch := p.log.Head().Epoch; epoch <= head.Epoch {
		t.Errorf("the new log has epoch %d, the node holds one of %d", epoch, head.Epoch)
	}
	next := p.fill("web", 0, 1)
	c.take()
	c.has(next)
}

// P9: a plane that has not heard of all of its sources takes nothing away from a node that holds more than it knows.
func TestAFrozenFleet(t *testing.T) {
	p := startPlane(t, quick)
	const why = "source b has not listed"
	p.log = p.newFleet(why)
	held := foreignState()
	c := p.connect(held)
	if w := c.welcome(); w.GetWaiting() != fleetv1.Code_CODE_FROZEN || w.GetMessage() != why {
		t.Errorf("welcome: %v", w)
	}
	p.revise("web", "roundrobin")
	p.view("frozen", waits(fleetv1.Code_CODE_FROZEN))
	c.quiet()

	// A node without a revision takes what is there.
	fresh := p.connect(nothing(), func(h *fleetv1.Hello) { h.Node = "b" })
	fresh.welcome()
	fresh.take()
	fresh.has(p.log.Head())

	p.fleets.Set(map[string]changelog.Fleet{"edge": {Name: "edge", Log: p.log}})
	if c.next().GetAskBuckets() == nil {
		t.Error("thawed, and not served")
	}
	p.view("served", func(v view) bool { return v.Waiting.Code == 0 })
	c.quiet()
	fresh.quiet()
}

func TestTooManyStreams(t *testing.T) {
	p := startPlane(t, quick, func(c *Config) { c.MaxStreams = 1 })
	head := p.revise("web", "roundrobin")
	c := p.connect(stateOf(head))
	c.welcome()
	other := p.connect(stateOf(head), func(h *fleetv1.Hello) { h.Node = "b" })
	wait := other.next().GetWait()
	if wait.GetCode() != fleetv1.Code_CODE_BUSY || wait.GetRetryAfter().AsDuration() <= 0 {
		t.Errorf("told to wait: %v", wait)
	}
	other.endsWith(codes.Unavailable)
	c.cancel()
	c.endsWith(codes.Canceled)
	p.view("gone", func(v view) bool { return !v.Connected })
}
