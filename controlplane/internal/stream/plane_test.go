package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what has to come.
const patience = 10 * time.Second

// plane is a real server behind a loopback port, with one fleet, edge.
type plane struct {
	t       testing.TB
	fleets  *changelog.Directory
	log     *changelog.Log
	nodes   *node.Registry
	server  *Server
	target  string
	clients *grpc.ClientConn
}

// quick are timings with which a test sees heartbeats at once, and nothing ends by itself.
var quick = Timing{Heartbeat: 20 * time.Millisecond, RetryMin: 10 * time.Millisecond, RetryMax: 20 * time.Millisecond}

func startPlane(t testing.TB, timing Timing, change ...func(*Config)) *plane {
	t.Helper()
	p := &plane{t: t, fleets: changelog.NewDirectory(), nodes: node.New(time.Now)}
	p.log = p.newFleet("")
	config := Config{Fleets: p.fleets, Nodes: p.nodes, Log: zerolog.New(zerolog.NewTestWriter(t)), Timing: timing}
	for _, c := range change {
		c(&config)
	}
	p.server = New(config)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(Options()...)
	fleetv1.RegisterFleetServiceServer(server, p.server)
	var served sync.WaitGroup
	served.Go(func() {
		if err := server.Serve(listener); err != nil {
			t.Error(err)
		}
	})
	p.target = listener.Addr().String()
	p.clients = p.dial()
	t.Cleanup(func() {
		_ = p.clients.Close()
		p.server.Close()
		server.Stop()
		served.Wait()
	})
	return p
}

// newFleet makes the fleet edge anew, with an empty log.
func (p *plane) newFleet(waiting string) *changelog.Log {
	log := changelog.New(changelog.Limits{})
	p.fleets.Set(map[string]changelog.Fleet{"edge": {Name: "edge", Log: log, Waiting: waiting}})
	return log
}

func (p *plane) dial(opts ...grpc.DialOption) *grpc.ClientConn {
	p.t.Helper()
	conn, err := grpc.NewClient(p.target, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		p.t.Fatal(err)
	}
	return conn
}

func (p *plane) publish(rev snapshot.RevisionDelta, gen snapshot.GenerationDelta) *changelog.Head {
	return p.log.Publish(rev, gen, time.Now(), time.Now())
}

// revise publishes a backend with this line, and fill a slot of it.
func (p *plane) revise(backend, line string) *changelog.Head {
	return p.publish(revision(backend, line), snapshot.GenerationDelta{})
}

func (p *plane) fill(backend string, slot, pod int) *changelog.Head {
	return p.publish(snapshot.RevisionDelta{}, generation(backend, slot, pod))
}

func revision(backend, line string) snapshot.RevisionDelta {
	b := &snapshot.Backend{Name: backend, Defaults: "berth", Lines: []snapshot.Line{{"balance", line}}}
	return snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{b.Key(): b}}
}

func generation(backend string, slot, pod int) snapshot.GenerationDelta {
	s := snapshot.Slot{
		State: snapshot.Ready, Address: netip.AddrFrom4([4]byte{10, 0, byte(pod >> 8), byte(pod)}), Port: 80,
		Weight: 100, Endpoint: fmt.Sprintf("shop/pod-%d", pod),
	}
	return snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{backend: {Length: 8, Slots: map[int]snapshot.Slot{slot: s}}}}
}

// view waits until what is known of the node a is as wanted.
func (p *plane) view(what string, wanted func(node.View) bool) node.View {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		changed := p.nodes.Changed()
		v, ok := p.nodes.Get(node.Key{Fleet: "edge", Name: "a"})
		if ok && wanted(v) {
			return v
		}
		select {
		case <-changed:
		case <-deadline:
			p.t.Fatalf("%s: not within %s; the node is %+v", what, patience, v)
		}
	}
}

// client is a node that a test plays: it holds real state, and says what the test wants.
type client struct {
	t        testing.TB
	stream   grpc.BidiStreamingClient[fleetv1.SyncRequest, fleetv1.SyncResponse]
	cancel   context.CancelFunc
	incoming chan *fleetv1.SyncResponse
	failed   chan error

	rev       *snapshot.Revision
	gen       *snapshot.Generation
	assembler wire.Assembler
	// heartbeats counts those that came while the test waited for something else.
	heartbeats int
	newest     *fleetv1.Heartbeat
}

// state is what a client starts with.
type state struct {
	rev *snapshot.Revision
	gen *snapshot.Generation
}

func nothing() state { return state{snapshot.EmptyRevision(), snapshot.EmptyGeneration()} }

func stateOf(h *changelog.Head) state { return state{h.Revision, h.Generation} }

func (s state) marks() wire.Marks { return wire.MarksOf(s.rev, s.gen) }

// open opens a stream without saying anything.
func (p *plane) open(conn *grpc.ClientConn) *client {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := fleetv1.NewFleetServiceClient(conn).Sync(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	c := &client{
		t: p.t, stream: stream, cancel: cancel,
		incoming: make(chan *fleetv1.SyncResponse), failed: make(chan error, 1),
		rev: snapshot.EmptyRevision(), gen: snapshot.EmptyGeneration(),
	}
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				c.failed <- err
				return
			}
			select {
			case c.incoming <- m:
			case <-ctx.Done():
				c.failed <- status.FromContextError(ctx.Err()).Err()
				return
			}
		}
	})
	p.t.Cleanup(func() {
		cancel()
		reader.Wait()
	})
	return c
}

// connect opens a stream of the node a that holds and has applied s.
func (p *plane) connect(s state, change ...func(*fleetv1.Hello)) *client {
	p.t.Helper()
	c := p.open(p.clients)
	c.rev, c.gen = s.rev, s.gen
	h := &fleetv1.Hello{Fleet: "edge", Node: "a", BootId: "1", Held: s.marks().Proto(), Applied: s.marks().Proto(), Epoch: s.marks().Epoch()}
	for _, f := range change {
		f(h)
	}
	c.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Hello{Hello: h}})
	return c
}

func (c *client) send(m *fleetv1.SyncRequest) {
	c.t.Helper()
	if err := c.stream.Send(m); err != nil && !errors.Is(err, io.EOF) {
		c.t.Fatal(err)
	}
}

// next is the next message that is no heartbeat.
func (c *client) next() *fleetv1.SyncResponse {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case m := <-c.incoming:
			if h := m.GetHeartbeat(); h != nil {
				c.heartbeats++
				c.newest = h
				continue
			}
			return m
		case err := <-c.failed:
			c.t.Fatalf("the stream ended: %v", err)
		case <-deadline:
			c.t.Fatalf("no message within %s", patience)
		}
	}
}

func (c *client) welcome() *fleetv1.Welcome {
	c.t.Helper()
	m := c.next()
	if m.GetWelcome() == nil {
		c.t.Fatalf("no Welcome, but %v", m)
	}
	return m.GetWelcome()
}

// quiet waits for two heartbeats: the plane sends one only when nothing else is due.
func (c *client) quiet() {
	c.t.Helper()
	deadline := time.After(patience)
	for range 2 {
		select {
		case m := <-c.incoming:
			if c.newest = m.GetHeartbeat(); c.newest == nil {
				c.t.Fatalf("not quiet, but %v", m)
			}
		case err := <-c.failed:
			c.t.Fatalf("the stream ended: %v", err)
		case <-deadline:
			c.t.Fatalf("no heartbeat within %s", patience)
		}
	}
}

// update reads the frames of one update.
func (c *client) update() wire.Update {
	c.t.Helper()
	for {
		m := c.next()
		if m.GetUpdate() == nil {
			c.t.Fatalf("no Update, but %v", m)
		}
		u, complete, err := c.assembler.Add(m.GetUpdate())
		if err != nil {
			c.t.Fatal(err)
		}
		if complete {
			return u
		}
	}
}

// apply takes an update in as a node does, without answering.
func (c *client) apply(u wire.Update) {
	c.t.Helper()
	rev, gen, err := u.Apply(c.rev, c.gen)
	if err != nil {
		c.t.Fatal(err)
	}
	c.rev, c.gen = rev, gen
}

func (c *client) marks() wire.Marks { return wire.MarksOf(c.rev, c.gen) }

// received answers an update.
func (c *client) received(u wire.Update, code fleetv1.Code, change ...func(*fleetv1.Received)) {
	c.t.Helper()
	r := &fleetv1.Received{Id: u.ID, Code: code, Held: c.marks().Proto(), Epoch: c.marks().Epoch()}
	for _, f := range change {
		f(r)
	}
	c.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Received{Received: r}})
}

// take reads an update, takes it in, and says so.
func (c *client) take() wire.Update {
	c.t.Helper()
	u := c.update()
	c.apply(u)
	c.received(u, fleetv1.Code_CODE_OK)
	return u
}

// applied says that the worker has what the node holds.
func (c *client) applied(change ...func(*fleetv1.Applied)) {
	c.t.Helper()
	a := &fleetv1.Applied{Applied: c.marks().Proto(), By: fleetv1.By_BY_RUNTIME}
	for _, f := range change {
		f(a)
	}
	c.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Applied{Applied: a}})
}

// has fails unless the node holds the content of the head.
func (c *client) has(h *changelog.Head) {
	c.t.Helper()
	if !c.marks().Same(h.Marks()) {
		c.t.Fatalf("the node holds %+v, the newest is %+v", c.marks(), h.Marks())
	}
}

// ended waits for the end of the stream, whatever comes before it.
func (c *client) ended() (codes.Code, string) {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case <-c.incoming:
		case err := <-c.failed:
			if errors.Is(err, io.EOF) {
				return codes.OK, ""
			}
			return status.Code(err), err.Error()
		case <-deadline:
			c.t.Fatalf("the stream did not end within %s", patience)
		}
	}
}

func (c *client) endsWith(want codes.Code) {
	c.t.Helper()
	if got, text := c.ended(); got != want {
		c.t.Fatalf("the stream ended with %s (%s), want %s", got, text, want)
	}
}

func timestamp(t time.Time) *timestamppb.Timestamp { return timestamppb.New(t) }
