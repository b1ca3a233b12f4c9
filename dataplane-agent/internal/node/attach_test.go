package node_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// supervisor runs HAProxy as something else than an agent does, and starts it again when it ends.
type supervisor struct {
	pid    atomic.Int64
	starts atomic.Int64
	stop   func()
}

// supervise runs HAProxy with a file, which need not be there yet.
func (m *machine) supervise(file string) *supervisor {
	m.t.Helper()
	s := &supervisor{}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	binary, master := m.cfg.HAProxy, m.cfg.MasterSocket
	running.Go(func() {
		for ctx.Err() == nil {
			cmd := exec.Command(binary, "-W", "-S", master, "-f", file)
			cmd.Dir = m.dir // where endHAProxy looks for it
			if cmd.Start() == nil {
				s.pid.Store(int64(cmd.Process.Pid))
				s.starts.Add(1)
				_ = cmd.Wait()
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	s.stop = sync.OnceFunc(func() {
		cancel()
		ended := make(chan struct{})
		go func() { running.Wait(); close(ended) }()
		for {
			m.endHAProxy()
			select {
			case <-ended:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	m.t.Cleanup(s.stop)
	return s
}

// foreign is a configuration that has nothing of an agent's.
func (m *machine) foreign() string {
	return fmt.Sprintf("defaults\n mode http\n timeout connect 1s\n timeout client 1s\n timeout server 1s\nfrontend f\n bind 127.0.0.1:%d\n http-request return status 200\n",
		m.cfg.Settings.HTTPPort)
}

// attached is a node whose HAProxy is run by a supervisor, from the state directory's file.
func attached(t *testing.T, binary string) *machine {
	m := newMachine(t, binary)
	m.cfg.MasterSocket = m.socket("other.sock") // where somebody else wants it
	m.cfg.SocketGone, m.cfg.CommandTimeout = 500*time.Millisecond, time.Second
	return m
}

// NODE-13: a HAProxy that something else has started, with nothing of ours in its configuration, is brought to what is wanted by a reload, without a request that fails; when it
// ends, its supervisor starts it and not the agent, and the agent meets the new one.
func TestNODE13_AnotherOnesHAProxyIsTakenOver(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := attached(t, binary)
		if err := os.WriteFile(m.socket("haproxy.cfg"), []byte(m.foreign()), 0o600); err != nil {
			t.Fatal(err)
		}
		sup := m.supervise(m.socket("haproxy.cfg"))
		(&agent{t: t}).until("it serves", func() bool { return m.answers("/a") })
		end := m.load("/a")
		a, s, p := m.started()
		a.must(s.slots("a", 0, p, 0, 0))
		a.applied(s)
		a.must(s.change(backend("b"), route("/b", "b")))
		a.must(s.slots("b", p, 0))
		a.applied(s)
		end()
		if sup.starts.Load() != 1 || m.get("/b") != 200 {
			t.Errorf("HAProxy was started %d times", sup.starts.Load())
		}
		for round := range 2 {
			first := sup.pid.Load()
			a.until("the file follows", func() bool { return strings.HasPrefix(lines(m.config(), "a"), "192.0.2.1:1 127") })
			_ = syscall.Kill(int(first), syscall.SIGTERM)
			a.until("the supervisor starts another", func() bool { return sup.pid.Load() != first && m.answers("/a") })
			a.must(s.slots("a", p, p, 0, 0))
			a.applied(s)
			a.must(s.slots("a", 0, p, 0, 0))
			a.must(s.change(backend(fmt.Sprint("c", round))))
			a.applied(s)
			if got := m.get("/a"); got != 200 {
				t.Errorf("status %d", got)
			}
		}
		if n := sup.starts.Load(); n != 3 {
			t.Errorf("HAProxy was started %d times, 3 of them by its supervisor", n)
		}
		a.until("nothing stands in the way", func() bool { return a.failed() == nil })
		a.stop()
		if got := m.get("/a"); got != 200 { // the agent ends, and HAProxy goes on
			t.Errorf("status %d", got)
		}
		a = m.start()
		a.applied(s)
		a.stop()
		sup.stop()
	})
}

// NODE-13: a supervisor whose HAProxy has no configuration yet gets one: the agent writes it, and never starts HAProxy itself.
func TestNODE13_ASupervisorThatWaitsForAConfiguration(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := attached(t, binary)
		a := m.start()
		s := newState()
		u := s.change(backend("a"), route("/a", "a"))
		u.Scope, u.Revision = fleetv1.Scope_SCOPE_EVERYTHING, s.rev.Full()
		a.must(u)
		a.must(s.slots("a", pod(t, "a"), 0))
		a.until("it is told how to start HAProxy", func() bool {
			f := a.failed()
			return f.GetCode() == fleetv1.Code_CODE_START && strings.Contains(f.GetMessage(), "-W -S "+m.cfg.MasterSocket+" -f "+m.socket("haproxy.cfg"))
		})
		a.until("the file is there", func() bool { return lines(m.config(), "a") != "" })
		a.idles("while nobody starts HAProxy")
		if m.answers("/a") {
			t.Error("the agent has started HAProxy")
		}
		a.must(s.slots("a", 0, pod(t, "b")))
		a.until("the file follows while nothing runs", func() bool { return strings.HasPrefix(lines(m.config(), "a"), "192.0.2.1:1 127") })
		sup := m.supervise(m.socket("haproxy.cfg"))
		a.applied(s)
		a.until("nothing stands in the way", func() bool { return a.failed() == nil })
		if n := sup.starts.Load(); n != 1 || m.get("/a") != 200 {
			t.Errorf("%d starts", n)
		}
		a.stop()
		sup.stop()
	})
}

// NODE-13: a HAProxy that reads another file is let alone, and the reason told; when it is started rightly it is taken over.
func TestNODE13_AHAProxyThatReadsAnotherFile(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := attached(t, binary)
		other := m.socket("other.cfg")
		if err := os.WriteFile(other, []byte(m.foreign()), 0o600); err != nil {
			t.Fatal(err)
		}
		sup := m.supervise(other)
		a := m.start()
		s := newState()
		u := s.change(backend("a"), route("/a", "a"))
		u.Scope, u.Revision = fleetv1.Scope_SCOPE_EVERYTHING, s.rev.Full()
		a.until("it serves", func() bool { return m.answers("/any") })
		pid := sup.pid.Load()
		end := m.load("/any")
		a.must(u)
		a.must(s.slots("a", pod(t, "a"), 0))
		a.until("the reason is told", func() bool {
			text := a.failed().GetMessage()
			return a.failed().GetCode() == fleetv1.Code_CODE_START && strings.Contains(text, other) && strings.Contains(text, "-f "+m.socket("haproxy.cfg"))
		})
		<-time.After(500 * time.Millisecond)
		a.idles("while nothing helps")
		end()
		if sup.pid.Load() != pid || sup.starts.Load() != 1 {
			t.Error("HAProxy was ended")
		}
		if a.Hello().Applied.Same(wire.MarksOf(s.rev, s.gen)) {
			t.Error("it is told as applied")
		}
		sup.stop()
		sup = m.supervise(m.socket("haproxy.cfg"))
		a.applied(s)
		if got := m.get("/a"); got != 200 {
			t.Errorf("status %d", got)
		}
		a.until("nothing stands in the way", func() bool { return a.failed() == nil })
		a.stop()
		sup.stop()
	})
}
