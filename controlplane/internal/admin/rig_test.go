package admin

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/adoption"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/engine"
	"github.com/berth-proxy/berth/controlplane/internal/guard"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/source/manifest"
	"github.com/berth-proxy/berth/controlplane/internal/store"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what has to come.
const patience = 10 * time.Second

// rig is a plane without nodes' streams: what they would tell, the test tells the registry.
type rig struct {
	t      *testing.T
	store  *store.Store
	nodes  *node.Registry
	fleets *changelog.Directory
	guard  *guard.Guard
	server *Server
	client adminv1.AdminServiceClient
	worker inspectorFunc
	// forget is what each source does that is told to forget.
	forget func(ctx context.Context) (int, error)
}

// Forget makes the rig a source that can be told to forget.
func (r *rig) Forget(ctx context.Context) (int, error) { return r.forget(ctx) }

type inspectorFunc func(context.Context, node.Key, []string) ([]*fleetv1.InspectedBackend, error)

func (r *rig) Inspect(ctx context.Context, key node.Key, backends []string) ([]*fleetv1.InspectedBackend, error) {
	return r.worker(ctx, key, backends)
}

func start(t *testing.T, sources ...string) *rig {
	t.Helper()
	r := &rig{t: t, store: store.New(sources...), nodes: node.New(time.Now), fleets: changelog.NewDirectory()}
	compiler := compile.New(sources[0], sources[1:]...)
	e := engine.New(engine.Config{Store: r.store, Compiler: compiler, Nodes: r.nodes, Fleets: r.fleets, Log: zerolog.Nop(), Adoption: adoption.Timing{Wait: time.Millisecond}})
	r.guard = guard.New(guard.Config{Store: r.store, Compiler: compiler, Log: zerolog.Nop()})
	locations, forgetters := map[string]string{}, map[string]source.Forgetter{}
	for _, s := range sources {
		locations[s], forgetters[s] = s+"=dir:/"+s, r
	}
	r.server = New(Config{
		Store: r.store, Compiler: compiler, Fleets: r.fleets, Nodes: r.nodes, Inspect: r, Locations: locations, WatchEvery: 5 * time.Millisecond,
		Guard: r.guard, Forgetters: forgetters,
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(Options()...)
	adminv1.RegisterAdminServiceServer(server, r.server)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := errors.Join(server.Serve(listener), ctx.Err()); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	running.Go(func() {
		if err := e.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	r.client = adminv1.NewAdminServiceClient(conn)
	t.Cleanup(func() {
		_ = conn.Close()
		cancel()
		r.server.Close()
		server.GracefulStop()
		running.Wait()
	})
	return r
}

// synced makes these documents all that the source has.
func (r *rig) synced(cluster, text string) {
	r.t.Helper()
	b := source.Batch{Source: cluster, Seen: time.Now(), Full: true, State: &source.State{Listed: true, Synced: true}, Put: r.rows(cluster, text)}
	r.store.Deliver(b)
}

// rows are those of some documents.
func (r *rig) rows(cluster, text string) (rows []source.Row) {
	r.t.Helper()
	docs, err := manifest.Parse("test.yaml", []byte(text))
	if err != nil && text != "" {
		r.t.Fatal(err)
	}
	for _, d := range docs {
		if d.Object == nil {
			r.t.Fatalf("line %d: %s%s", d.Line, d.Rejected, d.Skipped)
		}
		rows = append(rows, source.NewRow(cluster, d.Object))
	}
	return rows
}

// adopted lets the fleet meet a node that holds nothing, and waits until there is nothing more to learn.
func (r *rig) adopted(fleet string) {
	r.t.Helper()
	deadline := time.After(patience)
	for {
		fleets := r.fleets.Fleets()
		f, ok := fleets.Get(fleet)
		if ok && !f.Adopting {
			return
		}
		if ok {
			f.Adoption.Meet(wire.Marks{}, true, time.Now())
		}
		select {
		case <-fleets.Superseded():
		case <-deadline:
			r.t.Fatalf("fleet %s adopts on", fleet)
		}
	}
}

// published waits until the fleet's newest is as wanted.
func (r *rig) published(fleet string, wanted func(*changelog.Head) bool) *changelog.Head {
	r.t.Helper()
	deadline := time.After(patience)
	for {
		fleets := r.fleets.Fleets()
		var superseded <-chan struct{}
		if f, ok := fleets.Get(fleet); ok {
			h := f.Log.Head()
			if wanted(h) {
				return h
			}
			superseded = h.Superseded()
		}
		select {
		case <-superseded:
		case <-fleets.Superseded():
		case <-deadline:
			r.t.Fatalf("fleet %s was not published as wanted within %s", fleet, patience)
		}
	}
}

func hasBackend(name string) func(*changelog.Head) bool {
	return func(h *changelog.Head) bool { return h.Revision.Backend(name) != nil }
}

func wantCode(t *testing.T, what string, err error, want codes.Code) {
	t.Helper()
	if status.Code(err) != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

// shop is a service with three pods, one of which drains, behind shop.example.com, and an Ingress that names a service that is not there.
const shop = `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-a, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: "", port: 8080, protocol: TCP}]
endpoints:
- {addresses: ["10.0.0.1"], conditions: {ready: true}, targetRef: {kind: Pod, namespace: shop, name: pod-a}}
- {addresses: ["10.0.0.2"], conditions: {ready: true}, targetRef: {kind: Pod, namespace: shop, name: pod-b}}
- {addresses: ["10.0.0.3"], conditions: {ready: false, serving: true, terminating: true}, targetRef: {kind: Pod, namespace: shop, name: pod-c}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop}
spec:
  ingressClassName: berth
  rules:
  - host: shop.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
`

const lost = `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: lost, namespace: shop}
spec:
  ingressClassName: berth
  rules:
  - host: lost.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: gone, port: {number: 80}}}}]}
`
