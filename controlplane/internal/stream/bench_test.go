package stream

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// BenchmarkFanOut is one slot that changes, from Publish until every node has answered, over real gRPC on loopback. With one node it is the round
// trip that is the floor.
func BenchmarkFanOut(b *testing.B) {
	for _, nodes := range []int{1, 100, 500} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			p := startPlane(b, Timing{}, func(c *Config) { c.Log = zerolog.Nop() })
			p.fill("web", 0, 1)
			answered := make(chan struct{}, nodes)
			ctx, cancel := context.WithCancel(context.Background())
			var running sync.WaitGroup
			conn := p.clients
			for n := range nodes {
				if n%100 == 99 { // streams share connections, as many as gRPC usually lets them
					conn = p.dial()
					defer conn.Close()
				}
				follow(ctx, b, conn, n, answered, &running)
			}
			wait := func() {
				for range nodes {
					<-answered
				}
			}
			wait()
			i := 1
			b.ReportAllocs()
			for b.Loop() {
				i++
				p.log.Publish(snapshot.RevisionDelta{}, generation("web", i%8, i), time.Now(), time.Now())
				wait()
			}
			cancel()
			running.Wait()
		})
	}
}

// follow is a node that answers every update without looking into it.
func follow(ctx context.Context, b *testing.B, conn *grpc.ClientConn, n int, answered chan<- struct{}, running *sync.WaitGroup) {
	stream, err := fleetv1.NewFleetServiceClient(conn).Sync(ctx)
	if err != nil {
		b.Fatal(err)
	}
	hello := &fleetv1.Hello{Fleet: "edge", Node: fmt.Sprintf("node-%d", n)}
	if err := stream.Send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Hello{Hello: hello}}); err != nil {
		b.Fatal(err)
	}
	running.Go(func() {
		held := wire.Marks{}.Proto()
		for {
			m, err := stream.Recv()
			if err != nil {
				return
			}
			u := m.GetUpdate()
			if u == nil {
				continue
			}
			for _, clock := range []struct{ held, to **fleetv1.Mark }{{&held.Revision, &u.To.Revision}, {&held.Generation, &u.To.Generation}} {
				if *clock.to != nil {
					*clock.held = *clock.to
				}
			}
			r := &fleetv1.Received{Id: u.GetId(), Code: fleetv1.Code_CODE_OK, Held: held}
			if stream.Send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Received{Received: r}}) != nil {
				return
			}
			answered <- struct{}{}
		}
	})
}
