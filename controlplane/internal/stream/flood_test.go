package stream

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/berth-proxy/berth/api/snapshot"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// A node that floods is heard at a bounded rate, and waits in its own connection: it takes neither time nor memory from others (STREAM-5).

func TestAFloodIsHeardAtABoundedRate(t *testing.T) {
	const seconds = 10
	const least, most = seconds * messagesPerSecond, messagesAtOnce + seconds*messagesPerSecond + 10
	said := 0
	err := inMemory(t, small, func(p *pipe) {
		end := time.After(seconds * time.Second)
		flood := &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Observed{Observed: &fleetv1.Observed{Reloads: 1}}}
		for {
			select {
			case p.in <- flood:
				if said++; said > most {
					return
				}
			case <-p.out:
			case <-end:
				return
			}
		}
	})
	if status.Code(err) != codes.Unavailable { // it fell silent in the end
		t.Errorf("it ended with %v", err)
	}
	if said < least || said > most {
		t.Errorf("%d messages were heard in %d s, want %d to %d", said, seconds, least, most)
	}
}

// Whoever floods is served itself: its answers are behind what it says, and no further.
func TestANodeThatFloodsHoldsUpNobodyAndIsServed(t *testing.T) {
	p := startPlane(t, quick)
	p.publish(revision("web", "roundrobin"), snapshot.GenerationDelta{})
	flooder := p.connect(stateOf(p.log.Head()), func(h *fleetv1.Hello) { h.Node = "flooder" })
	flooder.welcome()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		applied := &fleetv1.Applied{Applied: flooder.marks().Proto(), Excepted: []*fleetv1.ExceptedSlot{{Backend: "web", Slot: 1, Message: "no"}}}
		for {
			select {
			case <-stop:
				return
			default:
			}
			if flooder.stream.Send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Applied{Applied: applied}}) != nil {
				return
			}
		}
	}()
	c := p.connect(stateOf(p.log.Head()))
	c.welcome()
	began := time.Now()
	for i := range 50 {
		head := p.fill("web", i%8, i)
		c.take()
		c.has(head)
	}
	t.Logf("50 changes took %s beside a flood", time.Since(began))
	flooder.update()
	close(stop)
	<-done
}
