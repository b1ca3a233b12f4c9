package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/berth-proxy/berth/api/transport"
	"github.com/berth-proxy/berth/controlplane/internal/admin"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/engine"
	"github.com/berth-proxy/berth/controlplane/internal/guard"
	"github.com/berth-proxy/berth/controlplane/internal/metrics"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/source/dir"
	"github.com/berth-proxy/berth/controlplane/internal/store"
	"github.com/berth-proxy/berth/controlplane/internal/stream"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Plane is a control plane that listens.
type Plane struct {
	config  Config
	log     zerolog.Logger
	sources []source.Source
	store   *store.Store
	guard   *guard.Guard
	engine  *engine.Engine
	stream  *stream.Server
	admin   *admin.Server

	nodeServer, adminServer     *grpc.Server
	nodes, admins, metricsPlace net.Listener
	metricsTLS                  *tls.Config
	certificates                *transport.Current
	registry                    *prometheus.Registry
}

// New wires a control plane and listens. The configuration has been validated.
func New(ctx context.Context, c Config, log zerolog.Logger) (*Plane, error) {
	p := &Plane{config: c, log: log, registry: prometheus.NewRegistry()}
	names := make([]string, len(c.folders))
	locations, forgetters := map[string]string{}, map[string]source.Forgetter{}
	for i, f := range c.folders {
		names[i], locations[f.name] = f.name, f.location
		folder := dir.New(f.name, f.path, log)
		p.sources, forgetters[f.name] = append(p.sources, folder), folder
	}

	// From the rows of the sources to the changelogs.
	p.store = store.New(names...)
	compiler := compile.New(names[0], names[1:]...)
	p.guard = guard.New(guard.Config{Store: p.store, Compiler: compiler, Log: log})
	fleets := changelog.NewDirectory()
	nodes := node.New(time.Now)
	measured := metrics.New(metrics.Config{Store: p.store, Compiler: compiler, Fleets: fleets, Nodes: nodes, Guard: p.guard})
	p.engine = engine.New(engine.Config{
		Store: p.store, Compiler: compiler, Nodes: nodes, Fleets: fleets, Log: log, Conflicts: measured.Conflicts,
	})

	// From the changelogs to the nodes and to people.
	p.stream = stream.New(stream.Config{Fleets: fleets, Nodes: nodes, Log: log, Applied: measured.Applied})
	p.admin = admin.New(admin.Config{
		Store: p.store, Compiler: compiler, Fleets: fleets, Nodes: nodes, Inspect: p.stream, Locations: locations,
		Guard: p.guard, Forgetters: forgetters,
	})
	calls := grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram())
	p.registry.MustRegister(measured, calls, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := p.openCertificates(); err != nil {
		return nil, err
	}
	if err := errors.Join(p.serveWith(calls), p.secureMetrics()); err != nil {
		return nil, err
	}
	return p, p.listen(ctx)
}

// serveWith makes the two gRPC servers.
func (p *Plane) serveWith(calls *grpcprom.ServerMetrics) error {
	measure := []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(calls.UnaryServerInterceptor()), grpc.ChainStreamInterceptor(calls.StreamServerInterceptor()),
	}
	for _, s := range []struct {
		flag, address string
		server        **grpc.Server
		options       []grpc.ServerOption
		register      func(*grpc.Server)
		service       string
	}{
		{
			"--node-address", p.config.NodeAddress, &p.nodeServer, stream.Options(),
			func(s *grpc.Server) { fleetv1.RegisterFleetServiceServer(s, p.stream) }, fleetv1.FleetService_ServiceDesc.ServiceName,
		},
		{
			"--admin-address", p.config.AdminAddress, &p.adminServer, append(p.people(), admin.Options()...),
			func(s *grpc.Server) { adminv1.RegisterAdminServiceServer(s, p.admin) }, adminv1.AdminService_ServiceDesc.ServiceName,
		},
	} {
		credentials, err := p.certificates.Server(s.address)
		if err != nil {
			return fmt.Errorf("%s: %w", s.flag, err)
		}
		server := grpc.NewServer(append(append([]grpc.ServerOption{grpc.Creds(credentials)}, measure...), s.options...)...)
		s.register(server)
		alive := health.NewServer()
		alive.SetServingStatus(s.service, healthv1.HealthCheckResponse_SERVING)
		healthv1.RegisterHealthServer(server, alive)
		reflection.Register(server)
		calls.InitializeMetrics(server)
		*s.server = server
	}
	return nil
}

func (p *Plane) listen(ctx context.Context) error {
	for _, l := range []struct {
		flag, address string
		listener      *net.Listener
	}{
		{"--node-address", p.config.NodeAddress, &p.nodes},
		{"--admin-address", p.config.AdminAddress, &p.admins},
		{"--metrics-address", p.config.MetricsAddress, &p.metricsPlace},
	} {
		if l.address == "" {
			continue
		}
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", l.address)
		if err != nil {
			p.close()
			return fmt.Errorf("%s %s: %w; is another control plane running?", l.flag, l.address, err)
		}
		*l.listener = listener
	}
	return nil
}

// close lets go of what listens. It is for a plane that never ran.
func (p *Plane) close() {
	for _, l := range []net.Listener{p.nodes, p.admins, p.metricsPlace} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// NodeAddress is where nodes connect, AdminAddress where people do, and MetricsAddress where Prometheus does, empty if nowhere.
func (p *Plane) NodeAddress() string { return p.nodes.Addr().String() }

// AdminAddress is where people connect.
func (p *Plane) AdminAddress() string { return p.admins.Addr().String() }

// MetricsAddress is where metrics are served, empty if nowhere.
func (p *Plane) MetricsAddress() string {
	if p.metricsPlace == nil {
		return ""
	}
	return p.metricsPlace.Addr().String()
}

// Run works until ctx ends, and returns nil then, or until something that it cannot do without has failed.
func (p *Plane) Run(ctx context.Context) error {
	p.log.Info().Str("version", p.config.Version).Str("nodes", p.NodeAddress()).Str("admin", p.AdminAddress()).Str("metrics", p.MetricsAddress()).
		Strs("sources", p.config.Sources).Msg("the control plane starts")
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range p.sources {
		group.Go(func() error {
			if err := s.Run(ctx, p.guard); err != nil {
				return fmt.Errorf("source %s: %w", s.Name(), err)
			}
			return nil
		})
	}
	group.Go(func() error { return p.guard.Run(ctx) })
	group.Go(func() error { return p.certificates.Run(ctx) })
	group.Go(func() error { return p.engine.Run(ctx) })
	group.Go(func() error { return serveGRPC("nodes", p.nodeServer, stream.Listener(p.nodes)) })
	group.Go(func() error { return serveGRPC("people", p.adminServer, p.admins) })
	if p.metricsPlace != nil {
		group.Go(func() error { return p.serveMetrics(ctx) })
	}
	group.Go(func() error {
		<-ctx.Done()
		p.shutDown()
		return nil
	})
	err := group.Wait()
	p.log.Info().Msg("the control plane has ended")
	return err
}

func serveGRPC(whom string, s *grpc.Server, l net.Listener) error {
	if err := s.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve %s on %s: %w", whom, l.Addr(), err)
	}
	return nil
}

// patience is how long calls may take to end when the plane does.
const patience = 3 * time.Second

// shutDown tells nodes to come back, to this plane started anew or to another, and lets calls end.
func (p *Plane) shutDown() {
	p.stream.Close()
	p.admin.Close()
	for _, s := range []*grpc.Server{p.nodeServer, p.adminServer} {
		hurry := time.AfterFunc(patience, s.Stop)
		s.GracefulStop()
		hurry.Stop()
	}
}
