package admin

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/guard"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/store"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Inspector asks a node for its worker's own answer.
type Inspector interface {
	Inspect(ctx context.Context, key node.Key, backends []string) ([]*fleetv1.InspectedBackend, error)
}

// Config is what a Server reads, and where it passes orders on.
type Config struct {
	Store    *store.Store
	Compiler *compile.Compiler
	Fleets   *changelog.Directory
	Nodes    *node.Registry
	Inspect  Inspector
	Guard    *guard.Guard
	// Forgetters are the sources that can be told to forget, by name.
	Forgetters map[string]source.Forgetter
	// Locations are what was given on the command line for each source, by its name.
	Locations map[string]string
	// WatchEvery is how often a watcher is told at most: 100 ms if it is zero. What costs more to look at is looked at every tenth time.
	WatchEvery time.Duration
}

// Server answers.
type Server struct {
	adminv1.UnimplementedAdminServiceServer
	Config
	closing chan struct{}
	once    sync.Once
	// watchers are those that watch now.
	watchers atomic.Int64
}

var _ adminv1.AdminServiceServer = (*Server)(nil)

// New gives a server.
func New(c Config) *Server {
	if c.WatchEvery <= 0 {
		c.WatchEvery = 100 * time.Millisecond
	}
	return &Server{Config: c, closing: make(chan struct{})}
}

// Close ends the watches, which nothing else would end.
func (s *Server) Close() { s.once.Do(func() { close(s.closing) }) }

// callTime is how long a call that is answered at once is served. Streams go on for as long as their client reads.
const callTime = 30 * time.Second

// Options are the options of the gRPC server that a Server is registered with. Keepalive ends the streams of clients that have vanished, which would
// otherwise wait in Send for as long as TCP does.
func Options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}),
		grpc.MaxRecvMsgSize(1 << 20),
		grpc.MaxSendMsgSize(4 << 20),
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			ctx, cancel := context.WithTimeout(ctx, callTime)
			defer cancel()
			return handle(ctx, req)
		}),
	}
}

// fleet finds a fleet. Without a name it is the only one there is.
func (s *Server) fleet(name string) (changelog.Fleet, error) {
	fleets := s.Fleets.Fleets().All()
	if name == "" && len(fleets) == 1 {
		for _, f := range fleets {
			return f, nil
		}
	}
	if f, found := fleets[name]; found {
		return f, nil
	}
	if name == "" {
		return changelog.Fleet{}, status.Errorf(codes.InvalidArgument, "name a fleet: there are %s", listed(fleets))
	}
	return changelog.Fleet{}, status.Errorf(codes.NotFound, "there is no fleet %q; there are %s", name, listed(fleets))
}

// Explain follows one request.
func (s *Server) Explain(_ context.Context, req *adminv1.ExplainRequest) (*adminv1.ExplainResponse, error) {
	f, err := s.fleet(req.GetFleet())
	if err != nil {
		return nil, err
	}
	return s.explain(f, req.GetUrl())
}
