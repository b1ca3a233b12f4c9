package bench

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
)

// BenchmarkFanOut is one endpoint that moves in a fleet of many nodes: from the rename of the slice's file until every node has it. Two of the nodes are real, an agent with an old and
// one with a new HAProxy, and have it when their workers show it; the others speak the protocol over real gRPC and answer as nodes do.
func BenchmarkFanOut(b *testing.B) {
	for _, simulated := range []int{0, 100, 1000} {
		b.Run(fmt.Sprintf("haproxies=2/simulated=%d", simulated), func(b *testing.B) { fanOut(b, simulated) })
	}
}

func fanOut(b *testing.B, simulated int) {
	dir := b.TempDir()
	if err := rig.Many(cluster.New(cluster.Options{Dir: dir}).Dir, 10, true); err != nil {
		b.Fatal(err)
	}
	r := rig.New(b, rig.Options{Cluster: cluster.Options{Dir: dir}, Fleets: []rig.Fleet{
		{Name: "default", HAProxy: harness.OldHAProxy(b)}, {Name: "default", HAProxy: harness.NewHAProxy(b)},
	}})
	harness.WaitFor(b, time.Minute, "the fleet to be served", func() bool {
		f, err := r.FleetState("default")
		return err == nil && f.GetBackends() >= 10 && f.GetGenerationApplied() == 2
	})
	r.WaitCurrent()
	wanted, err := r.Wanted("default")
	r.Must(err)
	backend := wanted.Backend("shop/many-0:80").Name
	var workers []*worker
	for _, n := range r.Nodes {
		workers = append(workers, dialWorker(b, n.WorkerSocket()))
	}
	nodes := simulate(b, r.Plane.NodeAddress, simulated)
	nodes.wait(b)
	harness.WaitFor(b, time.Minute, "the plane to count every node", func() bool {
		f, err := r.FleetState("default")
		return err == nil && int(f.GetNodesConnected()) == simulated+2 && int(f.GetGenerationApplied()) == simulated+2
	})
	moves := 2
	for b.Loop() {
		moves++
		r.Must(r.Put(rig.ManySlice(0, 1, moves)))
		nodes.wait(b)
		for _, w := range workers {
			w.until(b, backend, rig.ManyAddress(0, moves))
		}
	}
	b.ReportMetric(float64(simulated+2), "nodes")
}

// nodes are simulated nodes of the fleet default.
type nodes struct {
	count    int
	answered chan struct{} // one for each update that one of them has answered
}

// streamsPerConnection is how many nodes share a connection; real ones have one each, which is not what is measured.
const streamsPerConnection = 100

func simulate(b *testing.B, address string, count int) *nodes {
	b.Helper()
	s := &nodes{count: count, answered: make(chan struct{}, 10*count+1)}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var conn *grpc.ClientConn
	var conns []*grpc.ClientConn
	for i := range count {
		if i%streamsPerConnection == 0 {
			var err error
			if conn, err = grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
				b.Fatal(err)
			}
			conns = append(conns, conn)
		}
		stream, err := fleetv1.NewFleetServiceClient(conn).Sync(ctx)
		if err != nil {
			b.Fatal(err)
		}
		n := &simulatedNode{stream: stream, answered: s.answered, held: &fleetv1.Marks{}}
		running.Go(func() { n.run(ctx, fmt.Sprintf("simulated-%d", i)) })
	}
	b.Cleanup(func() {
		cancel()
		running.Wait()
		for _, c := range conns {
			_ = c.Close()
		}
	})
	return s
}

// wait waits until each node has answered one update more.
func (s *nodes) wait(b *testing.B) {
	b.Helper()
	patience := time.NewTimer(30 * time.Second)
	defer patience.Stop()
	for i := range s.count {
		select {
		case <-s.answered:
		case <-patience.C:
			b.Fatalf("%d of %d simulated nodes have answered within 30 s", i, s.count)
		}
	}
}

// A simulatedNode holds marks and no content: it answers each update as a node whose worker took it at once.
type simulatedNode struct {
	stream   fleetv1.FleetService_SyncClient
	answered chan<- struct{}

	mu   sync.Mutex // guards held, and makes one sending after the other
	held *fleetv1.Marks
}

func (n *simulatedNode) run(ctx context.Context, name string) {
	haproxy := &fleetv1.HAProxy{Version: "3.4.7", Capabilities: []fleetv1.Capability{fleetv1.Capability_CAPABILITY_ADD_SERVER}}
	hello := &fleetv1.Hello{Fleet: "default", Node: name, BootId: name, AgentVersion: "simulated", Haproxy: haproxy}
	if !n.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Hello{Hello: hello}}) {
		return
	}
	var beating sync.WaitGroup
	defer beating.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	beating.Go(func() { n.beat(ctx) })
	for {
		m, err := n.stream.Recv()
		if err != nil {
			return
		}
		if u := m.GetUpdate(); u != nil && !n.take(u, haproxy) {
			return
		}
	}
}

// take answers an update with its last frame.
func (n *simulatedNode) take(u *fleetv1.Update, haproxy *fleetv1.HAProxy) bool {
	n.mu.Lock()
	if to := u.GetTo(); to.GetRevision() != nil {
		n.held.Revision = to.GetRevision()
	}
	if to := u.GetTo(); to.GetGeneration() != nil {
		n.held.Generation = to.GetGeneration()
	}
	held := &fleetv1.Marks{Revision: n.held.GetRevision(), Generation: n.held.GetGeneration()}
	n.mu.Unlock()
	if !u.GetLast() {
		return true
	}
	received := &fleetv1.Received{Id: u.GetId(), Code: fleetv1.Code_CODE_OK, Held: held}
	applied := &fleetv1.Applied{Applied: held, Worker: &fleetv1.Worker{Pid: 1, StartTicks: 1}, By: fleetv1.By_BY_RUNTIME, Seen: u.GetSeen(), Haproxy: haproxy}
	ok := n.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Received{Received: received}}) &&
		n.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Applied{Applied: applied}})
	n.answered <- struct{}{}
	return ok
}

func (n *simulatedNode) send(m *fleetv1.SyncRequest) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stream.Send(m) == nil
}

func (n *simulatedNode) beat(ctx context.Context) {
	ticks := time.NewTicker(5 * time.Second)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			n.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Heartbeat{Heartbeat: &fleetv1.Heartbeat{}}})
		}
	}
}
