package bench

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/link"
)

// BenchmarkChange is one endpoint that moves: from the rename of the slice's file until the worker itself shows the new address, through the real plane, gRPC, agent and HAProxy, in a
// fleet of 10 backends and in one of 10,000. Beside it stands the floor, what the same machine takes at the same time for the steps that nobody can leave out: one gRPC round
// trip with the plane, and one `set server` with its read-back. The allocations of both processes and the bytes between them are reported roughly, as a
// running process tells of them; tests of the plane and of the agent count them exactly (P8).
func BenchmarkChange(b *testing.B) {
	h := harness.NewHAProxy(b)
	b.Run("backends=10", func(b *testing.B) {
		s := newSite(b, h, 10)
		b.Run("floor", s.floor)
		b.Run("change", s.changes)
	})
	b.Run("backends=10000", func(b *testing.B) {
		s := newSite(b, h, 10000)
		b.Run("floor", s.floor)
		b.Run("change", s.changes)
	})
}

// floor is a round trip, then a command and its read-back.
func (s *site) floor(b *testing.B) {
	conn, err := grpc.NewClient(s.Plane.NodeAddress, grpc.WithTransportCredentials(insecure.NewCredentials()))
	s.Must(err)
	defer func() { _ = conn.Close() }()
	health := healthv1.NewHealthClient(conn)
	n := 0
	for b.Loop() {
		if _, err := health.Check(context.Background(), &healthv1.HealthCheckRequest{}); err != nil {
			b.Fatal(err)
		}
		// The last slot is free, so that nothing of Berth's is touched; it is given back below.
		n++
		address := fmt.Sprintf("198.19.200.%d", n%250+1)
		s.worker.ask(b, fmt.Sprintf("set server %s/s4 addr %s port 1", s.backend, address))
		s.worker.until(b, s.backend, address)
	}
	s.worker.ask(b, fmt.Sprintf("set server %s/s4 addr 192.0.2.1 port 1", s.backend))
}

func (s *site) changes(b *testing.B) {
	s.move(b)
	counted := func(address string) float64 {
		n, err := rig.Metric(address, "go_memstats_mallocs_total")
		s.Must(err)
		return n
	}
	plane, agent, wire := counted(s.Plane.MetricsAddress), counted(s.node.MetricsAddress), s.carried()
	for b.Loop() {
		s.move(b)
	}
	b.StopTimer()
	n := float64(b.N)
	b.ReportMetric((counted(s.Plane.MetricsAddress)-plane)/n, "plane-allocs/op")
	b.ReportMetric((counted(s.node.MetricsAddress)-agent)/n, "agent-allocs/op")
	b.ReportMetric(float64(s.carried()-wire)/n, "wire-B/op")
	b.ReportMetric(0, "allocs/op") // of the benchmark itself, which are nobody's concern
	b.ReportMetric(0, "B/op")
}

// carried is how many bytes have travelled between the plane and the node, in both directions.
func (s *site) carried() int64 { return s.link.Passed(link.Up) + s.link.Passed(link.Down) }
