package bench

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/link"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// A site is a plane and one node with so many backends, of which the first one's endpoints are moved.
type site struct {
	*rig.Rig
	node    *rig.Node
	link    *link.Link
	backend string
	worker  *worker
	moves   int
}

func newSite(tb testing.TB, h harness.HAProxy, backends int) *site {
	tb.Helper()
	dir := tb.TempDir()
	s := &site{}
	if err := rig.Many(cluster.New(cluster.Options{Dir: dir}).Dir, backends, true); err != nil {
		tb.Fatal(err)
	}
	s.Rig = rig.New(tb, rig.Options{Cluster: cluster.Options{Dir: dir}})
	s.link = link.New(tb, s.Plane.NodeAddress)
	s.node = &rig.Node{Fleet: "default", HAProxy: h, Agent: harness.StartAgent(tb, harness.AgentOptions{
		Planes: []string{s.link.Address()}, Fleet: "default", Node: "default-1", HAProxy: h.Path,
	})}
	s.Nodes = append(s.Nodes, s.node)
	harness.WaitFor(tb, time.Minute, fmt.Sprintf("%d backends to be served", backends), func() bool {
		f, err := s.FleetState("default")
		return err == nil && int(f.GetBackends()) >= backends && f.GetRevisionApplied() == 1 && f.GetGenerationApplied() == 1
	})
	s.WaitCurrent()
	wanted, err := s.Wanted("default")
	s.Must(err)
	s.backend = wanted.Backend("shop/many-0:80").Name
	s.worker = dialWorker(tb, s.node.WorkerSocket())
	s.moves = 2
	return s
}

// move replaces an endpoint of the first backend by another and returns when the worker itself shows it.
func (s *site) move(tb testing.TB) {
	tb.Helper()
	s.moves++
	s.Must(s.Put(rig.ManySlice(0, 1, s.moves)))
	s.worker.until(tb, s.backend, rig.ManyAddress(0, s.moves))
}

// A worker is a kept connection to a worker's socket, in the mode in which answers end with a prompt.
type worker struct {
	conn net.Conn
	buf  []byte
}

func dialWorker(tb testing.TB, socket string) *worker {
	tb.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	w := &worker{conn: conn, buf: make([]byte, 1<<20)}
	w.ask(tb, "prompt")
	w.ask(tb, "set timeout cli 10m")
	return w
}

func (w *worker) ask(tb testing.TB, command string) string {
	tb.Helper()
	if _, err := io.WriteString(w.conn, command+"\n"); err != nil {
		tb.Fatal(err)
	}
	n := 0
	for !strings.HasSuffix(string(w.buf[:n]), "\n> ") {
		got, err := w.conn.Read(w.buf[n:])
		if err != nil {
			tb.Fatalf("ask the worker %q: %v", command, err)
		}
		n += got
	}
	return string(w.buf[:n])
}

// until asks until the backend shows a server at an address.
func (w *worker) until(tb testing.TB, backend, address string) {
	tb.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !strings.Contains(w.ask(tb, "show servers state "+backend), " "+address+" ") {
		if time.Now().After(deadline) {
			tb.Fatalf("backend %s does not show %s after 20 s", backend, address)
		}
	}
}
