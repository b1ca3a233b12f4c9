package stream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Config is what a Server works with.
type Config struct {
	Fleets *changelog.Directory
	Nodes  *node.Registry
	Log    zerolog.Logger
	Timing Timing
	// MaxStreams is how many streams there are at most, 20,000 if it is zero, and Rate how many begin in a second, 1,000 if it is zero; twice as many may
	// begin at once. Nodes beyond that are told to wait.
	MaxStreams, Rate int
	// Applied is told of each change that a node has applied and how long that took since its source saw it. It must not block; it may be nil.
	Applied func(by fleetv1.By, latency time.Duration)
}

// Server serves the nodes.
type Server struct {
	fleetv1.UnimplementedFleetServiceServer
	config  Config
	timing  Timing
	started time.Time
	// refusals is the log for nodes that are refused for their certificate, which come back again and again.
	refusals zerolog.Logger

	closing chan struct{}
	// running are the goroutines of all streams: each has its handler and two that carry messages.
	running sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	streams  int
	pace     pace
	sessions map[node.Key]*session
}

var _ fleetv1.FleetServiceServer = (*Server)(nil)

// New gives a server.
func New(c Config) *Server {
	if c.MaxStreams <= 0 {
		c.MaxStreams = 20000
	}
	if c.Rate <= 0 {
		c.Rate = 1000
	}
	return &Server{
		config: c, timing: c.Timing.withDefaults(), started: time.Now(),
		closing: make(chan struct{}), sessions: map[node.Key]*session{},
		refusals: c.Log.Sample(&zerolog.BurstSampler{Burst: 5, Period: time.Minute}),
		pace:     pace{every: time.Second / time.Duration(c.Rate), burst: 2 * time.Second},
	}
}

// Options are the options of the gRPC server that a Server is registered with: its codec, the limits of the protocol, windows that bound what a
// node that floods can make the plane hold, and keepalive, without which TCP alone would notice a vanished node after minutes. Its time-out is TCP's as
// well, and no shorter than what a message may take: a line on which a snapshot comes slowly acknowledges nothing for many seconds.
func Options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(wire.Codec()),
		grpc.MaxRecvMsgSize(wire.MaxMessage),
		grpc.MaxSendMsgSize(wire.MaxMessage),
		grpc.StaticStreamWindowSize(128 << 10),
		grpc.StaticConnWindowSize(512 << 10),
		grpc.ReadBufferSize(connectionBuffer),
		grpc.WriteBufferSize(connectionBuffer),
		grpc.MaxConcurrentStreams(maxConnectionStreams),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: time.Minute, Time: 20 * time.Second, Timeout: time.Minute}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	}
}

// connectionBuffer is what a connection has for each direction, in bytes. Most of what is written comes in frames of up to 16 KiB, which pass through it in parts; what is read is small.
const connectionBuffer = 4 << 10

// maxConnectionStreams is how many streams a connection carries at most. A node has one; tests and proxies may share a connection.
const maxConnectionStreams = 128

// Close ends every stream and waits until nothing of them is left. New ones are refused from then on.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
	s.mu.Unlock()
	s.running.Wait()
}

var errShutdown = status.Error(codes.Unavailable, "the control plane is shutting down; connect again")

// Sync serves one node until its stream ends.
func (s *Server) Sync(stream grpc.BidiStreamingServer[fleetv1.SyncRequest, fleetv1.SyncResponse]) error {
	release, hint, err := s.admit()
	if err != nil {
		return err
	}
	if hint > 0 {
		return refuse(stream, hint)
	}
	defer release()
	x := newSession(s, stream, address(stream.Context()))
	go x.receiver()
	go x.sender()
	defer close(x.done)
	return x.run()
}

func address(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return ""
}

// enter makes x the session of its node, here and in the registry alike: of two that come at once the same one is the newest in both.
func (s *Server) enter(x *session, h *fleetv1.Hello) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.record = s.config.Nodes.Connect(h, x.address)
	s.sessions[x.key] = x
}

func (s *Server) leave(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[x.key] == x {
		delete(s.sessions, x.key)
	}
}

// The reasons why a node cannot be inspected.
var (
	// ErrNotConnected: the node has no stream.
	ErrNotConnected = errors.New("the node is not connected")
	// ErrTooLarge: the answer is larger than the plane takes.
	ErrTooLarge = errors.New("the node's answer is too large")
)

// Inspect asks a node for its worker's own answer about these backends, about all if there are none. A NodeError is what the node says
// instead of an answer.
func (s *Server) Inspect(ctx context.Context, key node.Key, backends []string) ([]*fleetv1.InspectedBackend, error) {
	s.mu.Lock()
	x := s.sessions[key]
	s.mu.Unlock()
	if x == nil {
		return nil, ErrNotConnected
	}
	ask := &inspection{backends: backends, answer: make(chan inspected, 1)}
	select {
	case x.inspections <- ask:
	case <-x.done:
		return nil, ErrNotConnected
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case a := <-ask.answer:
		return a.backends, a.err
	case <-x.done:
		return nil, ErrNotConnected
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
