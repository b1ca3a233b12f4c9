package stream

import (
	"fmt"
	"testing"
	"time"

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

// After a restart all nodes come at once: some are admitted at once, the others at a rate.
func TestPace(t *testing.T) {
	now := time.Unix(1000, 0)
	p := pace{every: 10 * time.Millisecond, burst: 100 * time.Millisecond}
	admitted := func(tries int) (n int) {
		for range tries {
			if p.admit(now) {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 11}, {0, 0}, {9 * time.Millisecond, 0}, {time.Millisecond, 1}, {50 * time.Millisecond, 5}, {time.Hour, 11}} {
		now = now.Add(c.after)
		if got := admitted(50); got != c.want {
			t.Errorf("%s later %d of 50 were admitted, want %d", c.after, got, c.want)
		}
	}
	var parts [4]int
	for range 400 {
		parts[(p.hint(time.Second)-500*time.Millisecond)*4/time.Second]++
	}
	for i, n := range parts {
		if n < 90 || n > 110 {
			t.Errorf("quarter %d of the time has %d of 400 hints", i+1, n)
		}
	}
}

func TestTooManyStreamsInASecond(t *testing.T) {
	p := startPlane(t, quick, func(c *Config) { c.Rate = 1 })
	head := p.revise("web", "roundrobin")
	for n := range 3 { // two that are caught up, and the one of now
		p.connect(stateOf(head), func(h *fleetv1.Hello) { h.Node = fmt.Sprint(n) }).welcome()
	}
	late := p.connect(stateOf(head))
	if wait := late.next().GetWait(); wait.GetCode() != fleetv1.Code_CODE_BUSY || wait.GetRetryAfter().AsDuration() <= 0 {
		t.Errorf("told to wait: %v", wait)
	}
	late.endsWith(codes.Unavailable)
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
