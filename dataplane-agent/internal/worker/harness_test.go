package worker_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-proxy/berth/api/haproxytest"
	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	"github.com/berth-proxy/berth/dataplane-agent/internal/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eachHAProxy runs a test on the oldest and the newest HAProxy that there is.
func eachHAProxy(t *testing.T, f func(t *testing.T, binary string)) {
	t.Helper()
	for _, name := range haproxytest.Names() {
		binary := haproxytest.Needed(t, name)
		t.Run(name, func(t *testing.T) { f(t, binary) })
	}
}

// config has a backend that takes servers, one that takes none and fixed weights, one without servers, and a map.
const config = `global
    default-path origin %[1]s
    stats socket %[1]s/worker.sock mode 600 level admin
defaults berth
    mode http
    timeout connect 1s
    timeout client 1s
    timeout server 1s
frontend web from berth
    bind unix@%[1]s/web.sock
    http-request set-var(txn.b) path,map_str(maps/m.map)
    use_backend sticky if { path /sticky }
    use_backend %%[var(txn.b)]
backend a from berth
    server s1 192.0.2.1:1 id 1 weight 100 disabled
    server s2 127.0.0.1:2002 id 2 weight 50
    server s3 192.0.2.1:1 id 3 weight 100 disabled
backend static from berth
    balance static-rr
    server s1 192.0.2.1:1 id 1 weight 100 disabled
    server s2 192.0.2.1:1 id 2 weight 100 disabled
backend empty from berth
    balance roundrobin
backend sticky from berth
    balance roundrobin
    cookie stay insert indirect nocache httponly dynamic
    dynamic-cookie-key any
    server s1 192.0.2.1:1 id 1 weight 100 disabled
backend others from berth
    server old 127.0.0.1:9 id 1
    server s2 127.0.0.1:9 id 2
`

// run starts a HAProxy and returns the folder of its sockets.
func run(t *testing.T, binary string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "berth") // a short path: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.MkdirAll(filepath.Join(dir, "maps"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"maps/m.map": "/a a\n/b a\n", "haproxy.cfg": fmt.Sprintf(config, dir)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	p, err := haproxy.Start(ctx, haproxy.StartConfig{
		Binary: binary, Config: filepath.Join(dir, "haproxy.cfg"), MasterSocket: filepath.Join(dir, "master.sock"), WorkerSocket: filepath.Join(dir, "worker.sock"), StateDir: dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(p.PID(), syscall.SIGKILL) // its worker ends with it
		for !p.Ended() {
			<-time.After(time.Millisecond)
		}
	})
	if _, err := p.WaitWorker(ctx); err != nil {
		t.Fatal(err)
	}
	return dir
}

// dial connects a Worker to a socket.
func dial(t *testing.T, dir string) *worker.Worker {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := haproxy.DialRuntime(ctx, filepath.Join(dir, "worker.sock"))
	if err != nil {
		t.Fatal(err)
	}
	w := worker.New(conn, haproxy.Identity{})
	t.Cleanup(w.Close)
	return w
}

// servers is what somebody else reads from the worker.
func servers(t *testing.T, dir, backend string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := haproxy.DialRuntime(ctx, filepath.Join(dir, "worker.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	list, err := conn.ServersState(ctx, backend)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range list {
		switch {
		case s.Maint:
			out = append(out, "maint "+s.Address().String())
		case s.Drain:
			out = append(out, fmt.Sprintf("drain %s %d", s.Address(), s.Weight))
		default:
			out = append(out, fmt.Sprintf("ready %s %d", s.Address(), s.Weight))
		}
	}
	return strings.Join(out, ", ")
}

// slot is an endpoint's on this machine: of port 0 it is free, of a negative one it drains.
func slot(port int, weight uint16) snapshot.Slot {
	switch {
	case port == 0:
		return snapshot.Slot{}
	case port < 0:
		return snapshot.Slot{State: snapshot.Drain, Address: netip.MustParseAddr("127.0.0.1"), Port: uint16(-port), Weight: weight}
	default:
		return snapshot.Slot{State: snapshot.Ready, Address: netip.MustParseAddr("127.0.0.1"), Port: uint16(port), Weight: weight}
	}
}

// scripted is a worker's runtime socket that answers as it is told, for what no HAProxy does on demand.
type scripted struct {
	dir string
	mu  sync.Mutex
	got []string
}

// serve answers each line with what answer returns, and closes the connection if that is "close".
func serve(t *testing.T, answer func(line string) string) *scripted {
	t.Helper()
	dir, err := os.MkdirTemp("", "berth")
	if err != nil {
		t.Fatal(err)
	}
	f := &scripted{dir: dir}
	l, err := net.Listen("unix", filepath.Join(dir, "worker.sock"))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { f.talk(conn, answer) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait(); _ = os.RemoveAll(dir) })
	return f
}

func (f *scripted) talk(conn net.Conn, answer func(string) string) {
	defer func() { _ = conn.Close() }()
	for in := bufio.NewScanner(conn); in.Scan(); {
		text := ""
		if line := in.Text(); line != "prompt" {
			f.mu.Lock()
			f.got = append(f.got, line)
			f.mu.Unlock()
			if text = answer(line); text == "close" {
				return
			}
		}
		if _, err := conn.Write([]byte(text + "\n> ")); err != nil {
			return
		}
	}
}

// written are the lines that would change something.
func (f *scripted) written() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, l := range f.got {
		if !strings.HasPrefix(l, "show ") && !strings.HasPrefix(l, "get ") {
			out = append(out, l)
		}
	}
	return out
}

// state is an answer to `show servers state`: of each server its backend, name, address, port, weight, and the admin state.
func state(servers ...[6]string) string {
	text := "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_check_result srv_check_state srv_port\n"
	for i, s := range servers {
		text += fmt.Sprintf("2 %s %d %s %s 2 %s %s 1 0 %s\n", s[0], i+1, s[1], s[2], s[5], s[4], s[3])
	}
	return text
}
