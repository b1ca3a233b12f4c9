package haproxy

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-proxy/berth/api/haproxytest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(agentDir); dir != "" {
		beAgent(dir)
	}
	goleak.VerifyTestMain(m)
}

// version is a HAProxy that is there to test with.
type version struct{ name, binary string }

// versions are the oldest and the newest HAProxy that there is. One that is missing fails the test: it is what the test is about.
func versions(t testing.TB) []version {
	t.Helper()
	var out []version
	for _, name := range haproxytest.Names() {
		out = append(out, version{name, haproxytest.Needed(t, name)})
	}
	return out
}

// each runs a test on both versions at once: they wait more than they work.
func each(t *testing.T, f func(t *testing.T, v version)) {
	t.Helper()
	t.Parallel()
	for _, v := range versions(t) {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			f(t, v)
		})
	}
}

// machine is a place where a HAProxy runs.
type machine struct {
	t       testing.TB
	version version
	dir     string
	address string // of its frontend, on port 18080
	masters []int  // those that were started
}

var addresses atomic.Int32

// loopback is an address that no other test has.
func loopback() string {
	n := int(addresses.Add(1))
	return fmt.Sprintf("127.%d.%d.%d", 120+os.Getpid()%100, n/250, n%250+1)
}

func newMachine(t testing.TB, v version) *machine {
	t.Helper()
	// Not t.TempDir: the path of a socket is short, and the test's name would be a part of it.
	dir, err := os.MkdirTemp("", "berth")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, version: v, dir: dir, address: loopback()}
	t.Cleanup(func() {
		m.end()
		if t.Failed() {
			log, _ := os.ReadFile(m.path(LogFile))
			t.Logf("HAProxy says: %s", log)
		}
		_ = os.RemoveAll(dir)
	})
	m.configure("")
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }
func (m *machine) master() string          { return m.path(MasterSocket) }
func (m *machine) worker() string          { return m.path("worker.sock") }

const timeouts = " mode http\n timeout client 5s\n timeout server 5s\n timeout connect 500ms\n"

// configure writes the configuration, with more at its end.
func (m *machine) configure(more string) {
	m.t.Helper()
	m.write("m.map", "/a b\n/b b\n")
	m.write("haproxy.cfg", "global\n nbthread 2\n stats timeout 30s\n stats maxconn 100\n description of-a-test\n stats socket "+m.worker()+" mode 600 level admin\n"+
		"defaults dd\n"+timeouts+
		"frontend f from dd\n bind "+m.address+":18080\n"+
		" http-request return status 200 content-type text/plain lf-string \"%pid\" if { path /pid }\n"+
		" use_backend %[path,map_beg("+m.path("m.map")+")]\n default_backend b\n"+
		"backend probe from dd\n"+
		"backend b from dd\n balance roundrobin\n"+
		" server s1 192.0.2.1:1 disabled\n server s2 127.0.0.1:19001 weight 0\n server s3 127.0.0.1:19002\n server s4 192.0.2.1:1 disabled check inter 2s\n"+
		" server s5 127.0.0.1:19003 check inter 100ms fall 1\n server u1 unix@"+m.path("u.sock")+"\n server h1 name.invalid:80 init-addr none\n server v6 [::1]:19004\n"+
		more)
}

func (m *machine) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(m.path(name), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) read(name string) string {
	m.t.Helper()
	text, err := os.ReadFile(m.path(name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}

func (m *machine) config() StartConfig {
	return StartConfig{Binary: m.version.binary, Config: m.path("haproxy.cfg"), MasterSocket: m.master(), WorkerSocket: m.worker(), StateDir: m.dir}
}

// start runs HAProxy and waits for its worker.
func (m *machine) start() (*Process, Identity) {
	m.t.Helper()
	ctx := within(m.t, 10*time.Second)
	p, err := Start(ctx, m.config())
	if err != nil {
		m.t.Fatal(err)
	}
	m.masters = append(m.masters, p.PID())
	id, err := p.WaitWorker(ctx)
	if err != nil {
		m.t.Fatal(err)
	}
	return p, id
}

// settle waits until the master answers: on 2.6 it executes itself once more when its worker serves, and knows no signals until then.
func (m *machine) settle() {
	m.t.Helper()
	eventually(m.t, "the master answers", func() bool { _, err := Show(within(m.t, time.Second), m.master()); return err == nil })
}

// end kills what was started here, and waits for it. It goes by pids and not by what the master answers: on 2.6 it may not answer just then.
func (m *machine) end() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var ids []Identity
	for _, master := range m.masters {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", master, master))
		for _, field := range append(strings.Fields(string(text)), strconv.Itoa(master)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				m.t.Errorf("children of %d: %q", master, text)
				continue
			}
			if id, err := Identify(pid); err == nil {
				ids = append(ids, id)
			}
		}
	}
	for _, id := range ids {
		_ = syscall.Kill(id.PID, syscall.SIGKILL)
	}
	for _, id := range ids {
		for id.Alive() {
			if pause(ctx, time.Millisecond) != nil {
				m.t.Errorf("process %d does not end", id.PID)
				break
			}
		}
		_, _ = syscall.Wait4(id.PID, nil, syscall.WNOHANG, nil) // those that are not ours are reaped by init
	}
}

// dial connects to the worker.
func (m *machine) dial() *Runtime {
	m.t.Helper()
	r, err := DialRuntime(within(m.t, 5*time.Second), m.worker())
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = r.Close() })
	return r
}

// do sends commands that must be answered.
func do(t *testing.T, r *Runtime, lines ...string) []Reply {
	t.Helper()
	replies, err := r.Do(within(t, 10*time.Second), lines)
	if err != nil {
		t.Fatalf("%q: %v", lines, err)
	}
	return replies
}

// must sends commands that must be done.
func must(t *testing.T, r *Runtime, lines ...string) {
	t.Helper()
	for i, reply := range do(t, r, lines...) {
		if reply.Err != nil {
			t.Fatalf("%q: %v", lines[i], reply.Err)
		}
	}
}

// server reads one server of backend b.
func server(t *testing.T, r *Runtime, name string) Server {
	t.Helper()
	servers, err := r.ServersState(within(t, 5*time.Second), "b")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("backend b has no server %s", name)
	return Server{}
}

// within is a context that ends after a while, and with the test.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for something to become true.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	ctx := within(t, 10*time.Second)
	for !f() {
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			t.Fatalf("after 10 s it is not so that %s", what)
		}
	}
}

// pid is the worker that answers a request, 0 if none does.
func (m *machine) pid() int {
	conn, err := net.DialTimeout("tcp", m.address+":18080", time.Second)
	if err != nil {
		return 0
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write([]byte("GET /pid HTTP/1.0\r\n\r\n")); err != nil {
		return 0
	}
	buf := make([]byte, 1024)
	n := 0
	for {
		k, err := conn.Read(buf[n:])
		n += k
		if err != nil {
			break
		}
	}
	_, body, _ := strings.Cut(string(buf[:n]), "\r\n\r\n")
	var pid int
	if _, err := fmt.Sscan(body, &pid); err != nil {
		return 0
	}
	return pid
}
