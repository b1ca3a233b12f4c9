package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/simnode"
)

// BenchmarkFanOut is one endpoint that moves in a fleet of many nodes: from the rename of the slice's file until every node has it. Two of the nodes are real, an agent with an old and
// one with a new HAProxy, and have it when their workers show it; the others speak the protocol over real gRPC and answer as nodes do.
func BenchmarkFanOut(b *testing.B) {
	for _, simulated := range []int{0, 100, 1000} {
		b.Run(fmt.Sprintf("haproxies=2/simulated=%d", simulated), func(b *testing.B) {
			f := newFleet(b, simulated)
			for b.Loop() {
				f.move(b)
			}
			b.ReportMetric(float64(simulated+2), "nodes")
		})
	}
}

// BenchmarkFanOutBeside is the same in a fleet of 200 nodes with one more that behaves as no agent should, or with one of each kind. It tells the time in which 99 of 100 of the others have a
// change, beside that of the same run without the nodes that misbehave, in turns, and the ratio of the two. The ratio beside
// nobody is what the machine makes of it.
func BenchmarkFanOutBeside(b *testing.B) {
	for _, c := range []struct {
		name    string
		manners []simnode.Manner
	}{
		{"nobody", nil},
		{"stops-reading", []simnode.Manner{simnode.StopsReading}},
		{"floods", []simnode.Manner{simnode.Floods}},
		{"never-answers", []simnode.Manner{simnode.NeverAnswers}},
		{"all", []simnode.Manner{simnode.StopsReading, simnode.Floods, simnode.NeverAnswers}},
	} {
		b.Run("hostile="+c.name, func(b *testing.B) { fanOutBeside(b, c.manners) })
	}
}

// One operation is so many turns, each of so many moves without the nodes that misbehave and as many with them.
const (
	turns  = 10
	around = 20
)

func fanOutBeside(b *testing.B, manners []simnode.Manner) {
	f := newFleet(b, 200)
	var with, without []time.Duration
	turn := func() {
		without = append(without, f.moves(b, around)...)
		hostile := simnode.Start(b, len(manners), func(i int) simnode.Options {
			return simnode.Options{Planes: []string{f.Plane.NodeAddress}, Fleet: "default", Name: fmt.Sprintf("hostile-%d", i), Manner: manners[i]}
		})
		harness.WaitFor(b, time.Minute, "the nodes that misbehave to be connected", func() bool {
			return !slices.ContainsFunc(hostile.Nodes, func(n *simnode.Node) bool { return !n.Connected() })
		})
		with = append(with, f.moves(b, around)...)
		hostile.Stop()
	}
	for b.Loop() {
		for range turns { // in turns, so that whatever else the machine does is on both sides
			turn()
		}
	}
	beside, alone := percentile(with, 99), percentile(without, 99)
	b.ReportMetric(float64(beside.Microseconds())/1000, "ms/p99")
	b.ReportMetric(float64(alone.Microseconds())/1000, "ms/p99-without")
	b.ReportMetric(float64(beside)/float64(alone), "ratio")
	b.ReportMetric(float64(percentile(with, 50))/float64(percentile(without, 50)), "ratio/p50")
	b.ReportMetric(float64(len(with)/f.count), "moves")
	b.ReportMetric(0, "ns/op") // of turns
}

func percentile(list []time.Duration, p int) time.Duration {
	slices.Sort(list)
	return list[(len(list)-1)*p/100]
}

// fleet is two real nodes and simulated ones.
type fleet struct {
	*rig.Rig
	backend string
	workers []*worker
	count   int
	applied chan time.Time // one for each update that a simulated node has applied
	moved   int
}

// streamsPerConnection is how many simulated nodes share a connection; real ones have one each, which is not what is measured.
const streamsPerConnection = 100

func newFleet(b *testing.B, simulated int) *fleet {
	b.Helper()
	dir := b.TempDir()
	if err := rig.Many(cluster.New(cluster.Options{Dir: dir}).Dir, 10, true); err != nil {
		b.Fatal(err)
	}
	f := &fleet{count: simulated, applied: make(chan time.Time, 10*simulated+1), moved: 2}
	f.Rig = rig.New(b, rig.Options{Cluster: cluster.Options{Dir: dir}, Fleets: []rig.Fleet{
		{Name: "default", HAProxy: harness.OldHAProxy(b)}, {Name: "default", HAProxy: harness.NewHAProxy(b)},
	}})
	harness.WaitFor(b, time.Minute, "the fleet to be served", func() bool {
		s, err := f.FleetState("default")
		return err == nil && s.GetBackends() >= 10 && s.GetGenerationApplied() == 2
	})
	f.WaitCurrent()
	wanted, err := f.Wanted("default")
	f.Must(err)
	f.backend = wanted.Backend("shop/many-0:80").Name
	for _, n := range f.Nodes {
		f.workers = append(f.workers, dialWorker(b, n.WorkerSocket()))
	}
	var conn *grpc.ClientConn
	simnode.Start(b, simulated, func(i int) simnode.Options {
		if i%streamsPerConnection == 0 {
			shared, err := simnode.Dial(f.Plane.NodeAddress)
			f.Must(err)
			b.Cleanup(func() { _ = shared.Close() })
			conn = shared
		}
		return simnode.Options{
			Conn: conn, Fleet: "default", Name: fmt.Sprintf("simulated-%d", i), MarksOnly: true,
			Applied: func(*simnode.Node, wire.Marks) { f.applied <- time.Now() },
		}
	})
	f.wait(b, time.Now())
	harness.WaitFor(b, time.Minute, "the plane to count every node", func() bool {
		s, err := f.FleetState("default")
		return err == nil && int(s.GetNodesConnected()) == simulated+2 && int(s.GetGenerationApplied()) == simulated+2
	})
	return f
}

// move moves an endpoint and waits until every node has it. It tells how long each simulated node took.
func (f *fleet) move(b *testing.B) []time.Duration {
	b.Helper()
	f.moved++
	began := time.Now()
	f.Must(f.Put(rig.ManySlice(0, 1, f.moved)))
	took := f.wait(b, began)
	for _, w := range f.workers {
		w.until(b, f.backend, rig.ManyAddress(0, f.moved))
	}
	return took
}

func (f *fleet) moves(b *testing.B, n int) []time.Duration {
	b.Helper()
	var took []time.Duration
	for range n {
		took = append(took, f.move(b)...)
	}
	return took
}

// wait waits until each simulated node has applied one update more.
func (f *fleet) wait(b *testing.B, began time.Time) []time.Duration {
	b.Helper()
	patience := time.NewTimer(30 * time.Second)
	defer patience.Stop()
	took := make([]time.Duration, 0, f.count)
	for i := range f.count {
		select {
		case at := <-f.applied:
			took = append(took, at.Sub(began))
		case <-patience.C:
			b.Fatalf("%d of %d simulated nodes have applied the update within 30 s", i, f.count)
		}
	}
	return took
}
