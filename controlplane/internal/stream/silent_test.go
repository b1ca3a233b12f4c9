package stream

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

type view = node.View

// A stream that looks open and carries nothing is found in both directions: the plane speaks up, and ends a stream on which it hears nothing
// (STREAM-5).

func TestASilentNodeLosesItsStream(t *testing.T) {
	timing := quick
	timing.Silence = time.Second
	p := startPlane(t, timing)
	head := p.revise("web", "roundrobin")
	c := p.connect(stateOf(head))
	c.welcome()
	p.view("connected", func(v view) bool { return v.Connected })
	c.endsWith(codes.Unavailable)
	p.view("disconnected", func(v view) bool { return !v.Connected })
}

func TestNoHello(t *testing.T) {
	timing := quick
	timing.Hello = 50 * time.Millisecond
	p := startPlane(t, timing)
	p.open(p.clients).endsWith(codes.DeadlineExceeded)
}

func TestTheDefaultsAreThoseOfTheProtocol(t *testing.T) {
	want := Timing{
		Hello: 10 * time.Second, Heartbeat: 5 * time.Second, Silence: 20 * time.Second, Progress: 60 * time.Second,
		RetryMin: time.Second, RetryMax: 30 * time.Second, WaitHint: 5 * time.Second,
	}
	if got := (Timing{}).withDefaults(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A message that the plane does not know counts as one, and no more.
func TestAMessageFromANewerNodeIsIgnored(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	c := p.connect(nothing())
	unknown := &fleetv1.SyncRequest{}
	unknown.ProtoReflect().SetUnknown([]byte{0xf2, 0x07, 0x02, 0x08, 0x01}) // field 126 of the future
	c.send(unknown)
	c.welcome()
	c.take()
	c.quiet()
}
