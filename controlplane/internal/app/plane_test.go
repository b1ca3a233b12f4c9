package app

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patienceOfTests is how long a test waits for what has to come.
const patienceOfTests = 15 * time.Second

// running is a plane in this process.
type running struct {
	*Plane
	t     *testing.T
	stop  context.CancelFunc
	ended chan error
}

func start(t *testing.T, c Config) *running {
	t.Helper()
	for _, a := range []*string{&c.NodeAddress, &c.AdminAddress, &c.MetricsAddress} {
		if *a == "" {
			*a = "127.0.0.1:0"
		}
	}
	c.LogLevel = "info"
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	p, err := New(ctx, c, zerolog.New(zerolog.NewTestWriter(t)))
	if err != nil {
		stop()
		t.Fatal(err)
	}
	r := &running{Plane: p, t: t, stop: stop, ended: make(chan error, 1)}
	go func() { r.ended <- p.Run(ctx) }()
	t.Cleanup(r.end)
	return r
}

// end ends the plane, once.
func (r *running) end() {
	r.stop()
	if err, running := <-r.ended; running {
		close(r.ended)
		if err != nil {
			r.t.Error(err)
		}
	}
}

// write puts a file into the directory as an editor or a controller does: whole, by a rename.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	temp := filepath.Join(dir, "."+name)
	if err := errors.Join(os.WriteFile(temp, []byte(text), 0o600), os.Rename(temp, filepath.Join(dir, name))); err != nil {
		t.Fatal(err)
	}
}

const objects = `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{port: 80, targetPort: 8080}]}
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

func slice(addresses ...string) string {
	text := `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-a, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: "", port: 8080, protocol: TCP}]
endpoints:
`
	for _, a := range addresses {
		text += `- {addresses: ["` + a + `"], conditions: {ready: true}, targetRef: {kind: Pod, namespace: shop, name: pod-` + a + "}}\n"
	}
	return text
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	return string(body)
}

// From a file to a node, and on: a pod moves, the node goes away and comes back, the plane is started anew.
func TestFromAFileToANode(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "web.yaml", objects)
	write(t, dir, "pods.yaml", slice("10.0.0.1", "10.0.0.2"))
	plane := start(t, Config{Sources: []string{"home=dir:" + dir}})
	n := &scripted{t: t, rev: snapshot.EmptyRevision(), gen: snapshot.EmptyGeneration()}
	conn := dial(t, plane.NodeAddress(), insecure.NewCredentials())
	if err := n.connect(conn); err != nil {
		t.Fatal(err)
	}
	n.until("10.0.0.1 10.0.0.2 free free")
	if n.rev.Backend("shop_web_80") == nil {
		t.Error("the revision has no backend")
	}
	revision := n.rev.Digest()
	n.updates = 0
	write(t, dir, "pods.yaml", slice("10.0.0.2", "10.0.0.3"))
	n.until("free 10.0.0.2 10.0.0.3 free")
	if n.updates != 1 || n.rev.Digest() != revision {
		t.Errorf("a pod moved with %d updates; the revision is the same: %v", n.updates, n.rev.Digest() == revision)
	}

	people := adminv1.NewAdminServiceClient(dial(t, plane.AdminAddress(), insecure.NewCredentials()))
	fleets, err := people.ListFleets(t.Context(), &adminv1.ListFleetsRequest{})
	if err != nil || len(fleets.GetFleets()) != 1 || fleets.GetFleets()[0].GetSlotsReady() != 2 {
		t.Errorf("fleets: %v, %v", fleets, err)
	}

	n.cancel()
	write(t, dir, "pods.yaml", slice("10.0.0.2", "10.0.0.3", "10.0.0.4"))
	if err := n.connect(conn); err != nil {
		t.Fatal(err)
	}
	n.until("free 10.0.0.2 10.0.0.3 10.0.0.4")
	if n.updates != 1 || n.bytes > 1000 {
		t.Errorf("what the node missed came in %d updates of %d bytes", n.updates, n.bytes)
	}

	text := get(t, "http://"+plane.MetricsAddress()+"/metrics")
	for _, want := range []string{
		`berth_nodes{state="current"}`, `berth_slots{state="ready"} 3`, `berth_generation{fleet="default"}`, `berth_source_synced{source="home"} 1`,
		`berth_source_stale_seconds{source="home"} 0`, `berth_objects{state="accepted"} 3`, `berth_change_applied_seconds_count{by="runtime"}`,
		"berth_node_lag_generations_bucket", "grpc_server_handled_total", "process_resident_memory_bytes",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	if got := get(t, "http://"+plane.MetricsAddress()+"/healthz"); got != "ok\n" {
		t.Errorf("/healthz: %q", got)
	}

	// A plane that knows nothing of the node counts above it, and brings it to the same endpoints.
	before := wire.MarksOf(n.rev, n.gen)
	plane.end()
	plane = start(t, Config{Sources: []string{"home=dir:" + dir}})
	if err := n.connect(dial(t, plane.NodeAddress(), insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "pods.yaml", slice("10.0.0.9"))
	for !strings.Contains(n.table(), "10.0.0.9") {
		n.next()
	}
	if after := wire.MarksOf(n.rev, n.gen); after.Generation.Version.Compare(before.Generation.Version) <= 0 || n.rev.Digest() != before.Revision.Digest {
		t.Errorf("after the plane started anew: %+v, before it %+v", after, before)
	}
}

func TestHealthAndReflectionOnBothListeners(t *testing.T) {
	plane := start(t, Config{Sources: []string{"dir:" + t.TempDir()}})
	for address, service := range map[string]string{
		plane.NodeAddress(): "berth.fleet.v1.FleetService", plane.AdminAddress(): "berth.admin.v1.AdminService",
	} {
		conn := dial(t, address, insecure.NewCredentials())
		for _, name := range []string{"", service} {
			h, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{Service: name})
			if err != nil || h.GetStatus() != healthv1.HealthCheckResponse_SERVING {
				t.Errorf("health of %q on %s: %v, %v", name, address, h, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), patienceOfTests)
		defer cancel()
		r, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
		if err != nil {
			t.Fatal(err)
		}
		list := &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}
		if err := r.Send(list); err != nil {
			t.Fatal(err)
		}
		answer, err := r.Recv()
		if err != nil || !strings.Contains(answer.String(), service) {
			t.Errorf("reflection on %s: %v, %v", address, answer, err)
		}
	}
}

// A plane that is told to end ends, with nodes and watchers connected.
func TestTheEnd(t *testing.T) {
	plane := start(t, Config{Sources: []string{"dir:" + t.TempDir()}})
	n := &scripted{t: t, rev: snapshot.EmptyRevision(), gen: snapshot.EmptyGeneration()}
	if err := n.connect(dial(t, plane.NodeAddress(), insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
	watch, err := adminv1.NewAdminServiceClient(dial(t, plane.AdminAddress(), insecure.NewCredentials())).Watch(t.Context(), &adminv1.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	plane.end()
	if took := time.Since(began); took > patience {
		t.Errorf("it took %s", took)
	}
}

func TestAPortThatIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, set := range []func(*Config){
		func(c *Config) { c.NodeAddress = taken.Addr().String() },
		func(c *Config) { c.AdminAddress = taken.Addr().String() },
		func(c *Config) { c.MetricsAddress = taken.Addr().String() },
	} {
		c := Config{Sources: []string{"dir:" + t.TempDir()}, NodeAddress: "127.0.0.1:0", AdminAddress: "127.0.0.1:0", LogLevel: "info"}
		set(&c)
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		if _, err := New(t.Context(), c, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), taken.Addr().String()) {
			t.Errorf("the error does not name the address: %v", err)
		}
	}
}
