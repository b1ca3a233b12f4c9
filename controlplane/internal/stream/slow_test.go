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

// A node does not read, or not fast. It harms nobody else, and only one that makes no progress at all loses its stream (STREAM-5).

// fillLarge publishes some 6 MB, far more than what the transport takes from a node that does not read.
func (p *plane) fillLarge() {
	large := snapshot.RevisionDelta{}
	for i := range 6000 {
		large = merge(large, revision(fmt.Sprintf("web-%d", i), fmt.Sprintf("%01000d", i)))
	}
	p.publish(large, snapshot.GenerationDelta{})
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

// A frame now and then, each well within the limit, takes much longer than it altogether.
func TestASlowNodeKeepsItsStream(t *testing.T) {
	timing := quick
	timing.Progress = 600 * time.Millisecond
	p := startPlane(t, timing)
	p.fillLarge()
	c := p.stalled("a")
	c.beat(50 * time.Millisecond)
	pace := time.NewTicker(100 * time.Millisecond)
	defer pace.Stop()
	began := time.Now()
	for {
		<-pace.C
		u, complete, err := c.assembler.Add(c.next().GetUpdate())
		if err != nil {
			t.Fatal(err)
		}
		if complete {
			c.apply(u)
			c.received(u, fleetv1.Code_CODE_OK)
			break
		}
	}
	if took := time.Since(began); took < 2*timing.Progress {
		t.Fatalf("the update took %s only; the test is to be slower than %s", took, timing.Progress)
	}
	c.has(p.log.Head())
	c.quiet()
}

func TestANodeThatNeverAnswersLosesItsStream(t *testing.T) {
	timing := quick
	timing.Progress = 100 * time.Millisecond
	p := startPlane(t, timing)
	p.revise("web", "roundrobin")
	c := p.connect(nothing())
	c.beat(20 * time.Millisecond)
	c.welcome()
	c.update()
	c.endsWith(codes.DeadlineExceeded)
	p.view("disconnected", func(v view) bool { return !v.Connected })

	t.Run("asked for its buckets", func(t *testing.T) {
		c := p.connect(foreignState())
		c.beat(20 * time.Millisecond)
		c.welcome()
		if c.next().GetAskBuckets() == nil {
			t.Fatal("not asked")
		}
		c.endsWith(codes.DeadlineExceeded)
	})
}
