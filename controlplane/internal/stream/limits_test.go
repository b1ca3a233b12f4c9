package stream

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// What breaks the grammar or a limit ends that stream, with a status that says so, and nobody else's (STREAM-7).

func TestWhatBreaksTheProtocolEndsTheStream(t *testing.T) {
	hello := func(change func(*fleetv1.Hello)) *fleetv1.SyncRequest {
		h := &fleetv1.Hello{Fleet: "edge", Node: "a"}
		change(h)
		return &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Hello{Hello: h}}
	}
	fine := hello(func(*fleetv1.Hello) {})
	long := strings.Repeat("x", wire.MaxMessage)
	for name, c := range map[string]struct {
		messages []*fleetv1.SyncRequest
		want     codes.Code
	}{
		"no Hello first":           {[]*fleetv1.SyncRequest{{Message: &fleetv1.SyncRequest_Heartbeat{}}}, codes.InvalidArgument},
		"an empty message first":   {[]*fleetv1.SyncRequest{{}}, codes.InvalidArgument},
		"two Hellos":               {[]*fleetv1.SyncRequest{fine, fine}, codes.InvalidArgument},
		"no name":                  {[]*fleetv1.SyncRequest{hello(func(h *fleetv1.Hello) { h.Node = "" })}, codes.InvalidArgument},
		"a long name":              {[]*fleetv1.SyncRequest{hello(func(h *fleetv1.Hello) { h.Fleet = strings.Repeat("x", 254) })}, codes.InvalidArgument},
		"a digest of 31 bytes":     {[]*fleetv1.SyncRequest{hello(func(h *fleetv1.Hello) { h.Held = &fleetv1.Marks{Revision: &fleetv1.Mark{Digest: make([]byte, 31)}} })}, codes.InvalidArgument},
		"a message above 4 MiB":    {[]*fleetv1.SyncRequest{hello(func(h *fleetv1.Hello) { h.AgentVersion = long })}, codes.ResourceExhausted},
		"a long text":              {[]*fleetv1.SyncRequest{fine, {Message: &fleetv1.SyncRequest_Failed{Failed: &fleetv1.Failed{Message: long[:5000]}}}}, codes.InvalidArgument},
		"an answer to nothing":     {[]*fleetv1.SyncRequest{fine, {Message: &fleetv1.SyncRequest_Received{Received: &fleetv1.Received{Id: 7}}}}, codes.InvalidArgument},
		"buckets unasked":          {[]*fleetv1.SyncRequest{fine, {Message: &fleetv1.SyncRequest_Buckets{Buckets: &fleetv1.Buckets{}}}}, codes.InvalidArgument},
		"inspected unasked":        {[]*fleetv1.SyncRequest{fine, {Message: &fleetv1.SyncRequest_Inspected{Inspected: &fleetv1.Inspected{}}}}, codes.InvalidArgument},
		"a number beyond counting": {[]*fleetv1.SyncRequest{fine, {Message: &fleetv1.SyncRequest_Applied{Applied: &fleetv1.Applied{Applied: &fleetv1.Marks{Generation: &fleetv1.Mark{Version: &fleetv1.Version{Number: 1 << 63}}}}}}}, codes.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPlane(t, quick)
			head := p.revise("web", "roundrobin")
			other := p.connect(stateOf(head), func(h *fleetv1.Hello) { h.Node = "other" })
			other.welcome()
			bad := p.open(p.clients)
			for _, m := range c.messages {
				bad.send(m)
			}
			bad.endsWith(c.want)
			p.fill("web", 0, 1)
			other.take()
		})
	}
}

func TestBucketsOfAnotherKindThanAskedFor(t *testing.T) {
	for name, answer := range map[string]*fleetv1.Buckets{
		"none":  {},
		"short": {Generation: make([]byte, 32)},
		"beyond counting": {
			Generation: make([]byte, 8192), Revision: make([]byte, 8192),
			Held: &fleetv1.Marks{Revision: &fleetv1.Mark{Version: &fleetv1.Version{Epoch: 1<<64 - 1}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPlane(t, quick)
			p.revise("web", "roundrobin")
			c := p.connect(foreignState())
			c.welcome()
			if c.next().GetAskBuckets() == nil {
				t.Fatal("not asked")
			}
			c.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Buckets{Buckets: answer}})
			c.endsWith(codes.InvalidArgument)
		})
	}
}

// The node hangs up.
func TestTheNodeEndsTheStream(t *testing.T) {
	p := startPlane(t, quick)
	head := p.revise("web", "roundrobin")
	c := p.connect(stateOf(head))
	c.welcome()
	if err := c.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	c.endsWith(codes.OK)
	p.view("gone", func(v view) bool { return !v.Connected })
}
