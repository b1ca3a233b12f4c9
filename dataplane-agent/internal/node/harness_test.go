package node_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/api/haproxytest"
	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/certs"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	"github.com/berth-proxy/berth/dataplane-agent/internal/journal"
	"github.com/berth-proxy/berth/dataplane-agent/internal/node"
	"github.com/berth-proxy/berth/dataplane-agent/internal/report"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// eachHAProxy runs a test on the oldest and the newest HAProxy that there is. Most of a test's time is spent waiting, so some run at once.
func eachHAProxy(t *testing.T, f func(t *testing.T, binary string)) {
	t.Helper()
	t.Parallel()
	for _, name := range haproxytest.Names() {
		binary := haproxytest.Needed(t, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, binary)
		})
	}
}

// machine is a node's place: its folder and ports, over several agents.
type machine struct {
	t   testing.TB
	cfg node.Config
	dir string
	of  string // its fleet, "f" if it is empty
}

func newMachine(t testing.TB, binary string) *machine {
	t.Helper()
	dir, err := os.MkdirTemp("", "berth") // a short path: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, dir: dir, cfg: node.Config{
		HAProxy: binary, AddServers: true, Watch: 50 * time.Millisecond, RefreshFiles: 200 * time.Millisecond, ReloadSpacing: 100 * time.Millisecond,
		Settings: render.Settings{StateDir: dir, HTTPPort: freePort(t), HTTPSPort: freePort(t), BindAddress: "127.0.0.1"},
	}}
	t.Cleanup(func() {
		m.endHAProxy()
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, haproxy.LogFile))
			t.Logf("HAProxy says: %s", log)
		}
		_ = os.RemoveAll(dir)
	})
	return m
}

// given are the ports that a test has been given.
var given sync.Map

// freePort is a port below those that the kernel gives to whoever names none, so that it is still free when it is used.
func freePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := 10240 + rand.IntN(20000)
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// fleet is the fleet of the machine's node.
func (m *machine) fleet() string {
	if m.of != "" {
		return m.of
	}
	return "f"
}

func (m *machine) socket(name string) string { return filepath.Join(m.dir, name) }

// endHAProxy ends every HAProxy of this machine.
func (m *machine) endHAProxy() { haproxytest.EndBelow(m.dir) }

// agent is a running Node.
type agent struct {
	*node.Node
	t        testing.TB
	box      *report.Box
	registry *prometheus.Registry
	stop     func()
}

func (m *machine) start() *agent {
	m.t.Helper()
	folder, err := certs.Open(m.dir)
	if err != nil {
		m.t.Fatal(err)
	}
	j, held, err := journal.Open(m.socket("journal"), m.fleet())
	if err != nil {
		m.t.Fatal(err)
	}
	box, registry := report.New(), prometheus.NewRegistry()
	n := node.New(m.cfg, node.Parts{
		Log: zerolog.New(zerolog.NewTestWriter(m.t)), Box: box, Metrics: node.NewMetrics(registry), Journal: j, Held: held, Certs: folder,
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- n.Run(ctx) }()
	go func() { done <- j.Run(ctx) }()
	a := &agent{n, m.t, box, registry, nil}
	stopped := false
	a.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				m.t.Error(err)
			}
		}
	}
	m.t.Cleanup(a.stop)
	return a
}

// state builds what a plane would send.
type state struct {
	rev *snapshot.Revision
	gen *snapshot.Generation
}

func newState() *state {
	s := &state{snapshot.EmptyRevision(), snapshot.EmptyGeneration()}
	s.change(
		&snapshot.Section{Type: "global", Lines: []snapshot.Line{{"hard-stop-after", "5m"}}},
		&snapshot.Section{Type: "defaults", Name: "berth", Lines: []snapshot.Line{
			{"mode", "http"}, {"timeout", "client", "5m"}, {"timeout", "server", "5m"}, {"timeout", "connect", "500ms"}, {"option", "idle-close-on-response"},
		}},
		&snapshot.Section{Type: "frontend", Name: "web from berth", Lines: []snapshot.Line{
			{"http-request", "set-var(txn.backend)", "path,map_str(maps/exact.map)"}, {"use_backend", "%[var(txn.backend)]"}, {"default_backend", "unavailable"},
		}},
		&snapshot.Backend{Name: "unavailable", Defaults: "berth", Lines: []snapshot.Line{{"http-request", "return", "status", "503"}}},
		&snapshot.Map{Name: "exact"},
	)
	return s
}

// change returns the update that puts these resources; a Key takes one away.
func (s *state) change(resources ...any) wire.Update {
	d := snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{}}
	for _, r := range resources {
		switch r := r.(type) {
		case snapshot.Resource:
			d.Changes[r.Key()] = r
		case snapshot.Key:
			d.Changes[r] = nil
		}
	}
	u := wire.Update{Scope: fleetv1.Scope_SCOPE_CHANGES, From: wire.MarksOf(s.rev, nil), Revision: d, Seen: time.Now()}
	s.rev = s.rev.Apply(d, s.rev.Version.Next(1))
	u.To = wire.MarksOf(s.rev, nil)
	return u
}

// slots returns the update that sets a table's slots: ports of 127.0.0.1, 0 for free, negative for draining.
func (s *state) slots(backend string, ports ...int) wire.Update {
	next := &snapshot.Table{Backend: backend, Slots: make([]snapshot.Slot, len(ports))}
	for i, p := range ports {
		if p == 0 {
			continue
		}
		next.Slots[i] = snapshot.Slot{State: snapshot.Ready, Address: netip.MustParseAddr("127.0.0.1"), Port: uint16(max(p, -p)), Weight: 100, Endpoint: fmt.Sprint(p)}
		if p < 0 {
			next.Slots[i].State = snapshot.Drain
		}
	}
	next.Version = s.gen.Version.Next(1)
	td, _ := snapshot.DiffTables(s.gen.Table(backend), next)
	d := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{backend: td}}
	u := wire.Update{Scope: fleetv1.Scope_SCOPE_CHANGES, From: wire.MarksOf(nil, s.gen), Generation: d, Seen: time.Now()}
	s.gen = s.gen.Apply(d, next.Version)
	u.To = wire.MarksOf(nil, s.gen)
	return u
}

// slot is slots that changes one of them.
func (s *state) slot(backend string, index, port int) wire.Update {
	var ports []int
	for _, x := range s.gen.Table(backend).Slots {
		p := int(x.Port)
		if x.State == snapshot.Drain {
			p = -p
		}
		ports = append(ports, p)
	}
	ports[index] = port
	return s.slots(backend, ports...)
}

func (a *agent) deliver(u wire.Update) *fleetv1.Received {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := a.Deliver(ctx, u)
	if err != nil {
		a.t.Fatal(err)
	}
	return r
}

func (a *agent) must(u wire.Update) {
	a.t.Helper()
	if r := a.deliver(u); r.GetCode() != fleetv1.Code_CODE_OK {
		a.t.Fatalf("delivered: %v", r)
	}
}

// until polls a condition.
func (a *agent) until(what string, ok func() bool) {
	a.t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			a.t.Fatalf("not within 15 s: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// applied waits until the node says that the worker has the state.
func (a *agent) applied(s *state) {
	a.t.Helper()
	want := wire.MarksOf(s.rev, s.gen)
	a.until("applied "+want.Revision.Version.String()+" and "+want.Generation.Version.String(), func() bool { return a.Hello().Applied.Same(want) })
}

// worker asks the running worker itself, with a connection of the test's own.
func (m *machine) worker(f func(*haproxy.Runtime)) {
	m.t.Helper()
	if err := m.ask(f); err != nil {
		m.t.Fatal(err)
	}
}

// ask is worker where none may run.
func (m *machine) ask(f func(*haproxy.Runtime)) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := haproxy.DialRuntime(ctx, m.socket("worker.sock"))
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	f(r)
	return nil
}

// servers describes a backend as the worker has it: "s1=127.0.0.1:80" for ready, "(…)" for drain, "-" for free.
func (m *machine) servers(backend string) string {
	m.t.Helper()
	var out []string
	m.worker(func(r *haproxy.Runtime) {
		list, err := r.ServersState(context.Background(), backend)
		if err != nil {
			m.t.Fatal(err)
		}
		for _, s := range list {
			text := fmt.Sprint(s.Port)
			switch {
			case s.Maint && s.Address() == snapshot.Placeholder:
				text = "-"
			case s.Maint:
				text = "maint " + s.Address().String()
			case s.Drain:
				text = "(" + text + ")"
			}
			out = append(out, text)
		}
	})
	return strings.Join(out, " ")
}

func (m *machine) pid() int {
	m.t.Helper()
	pid := 0
	m.worker(func(r *haproxy.Runtime) {
		info, err := r.Info(context.Background())
		if err != nil {
			m.t.Fatal(err)
		}
		pid = info.PID
	})
	return pid
}

// get asks HAProxy for a path and returns the status.
func (m *machine) get(path string) int {
	m.t.Helper()
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", m.cfg.Settings.HTTPPort))
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path)
	var status int
	if _, err := fmt.Fscanf(conn, "HTTP/1.1 %d", &status); err != nil {
		m.t.Fatal(err)
	}
	return status
}
