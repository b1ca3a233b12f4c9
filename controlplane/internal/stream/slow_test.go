package stream

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/berth-proxy/berth/api/snapshot"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// A node does not read. It harms nobody else, and loses its stream (STREAM-5). One that reads slowly is in pace_test.go.

// fillLarge publishes some 6 MB, far more than what the transport takes from a node that does not read.
func (p *plane) fillLarge() { p.publish(largeRevision(6000), snapshot.GenerationDelta{}) }

// largeRevision has this many backends of a kilobyte each.
func largeRevision(backends int) snapshot.RevisionDelta {
	d := snapshot.RevisionDelta{}
	for i := range backends {
		d = merge(d, revision(fmt.Sprintf("web-%d", i), fmt.Sprintf("%01000d", i)))
	}
	return d
}

// stalled connects the node that does not read: neither the test nor gRPC's window takes more than a little of what is sent.
func (p *plane) stalled(name string) *client {
	conn := p.dial(grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(64<<10))
	p.t.Cleanup(func() { _ = conn.Close() })
	c := p.open(conn)
	c.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Hello{Hello: &fleetv1.Hello{Fleet: "edge", Node: name}}})
	c.welcome()
	return c
}

// beat keeps a node heard of until the test ends.
func (c *client) beat(every time.Duration) {
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if c.stream.Send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Heartbeat{Heartbeat: &fleetv1.Heartbeat{}}}) != nil {
					return
				}
			case <-stop:
				return
			}
		}
	}()
	c.t.Cleanup(func() {
		close(stop)
		<-done
	})
}

func TestANodeThatDoesNotReadHoldsUpNobody(t *testing.T) {
	timing := quick
	timing.Progress = 2 * time.Second
	p := startPlane(t, timing)
	p.fillLarge()
	stalled := p.stalled("stalled")
	stalled.beat(50 * time.Millisecond)
	c := p.connect(stateOf(p.log.Head()))
	c.welcome()
	for i := range 100 {
		head := p.fill("web-1", i%8, i)
		c.take()
		c.has(head)
	}
	stalled.endsWith(codes.DeadlineExceeded)
}
