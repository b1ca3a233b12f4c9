package node_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// occupy listens on HAProxy's port as soon as that is possible.
func (m *machine) occupy() net.Listener {
	m.t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", m.cfg.Settings.HTTPPort))
		if err == nil {
			return l
		}
		if time.Now().After(deadline) {
			m.t.Fatal(err)
		}
		<-time.After(time.Millisecond)
	}
}

// killAll kills HAProxy, master and workers.
func (m *machine) killAll() {
	m.t.Helper()
	p := m.processes()
	for _, pid := range append([]int{p.Master}, append(p.Workers, p.Old...)...) {
		m.kill(pid)
	}
}

// HAProxy is killed right after a runtime change, and its port is taken when it is to start again: the node says so, tries again without turning
// in circles, and serves with the newest slots when the port is free.
func TestAPortThatIsTakenAtTheStart(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.Watch = time.Second
		a, s, p := m.started()
		a.must(s.slots("a", 0, p, 0, 0))
		a.applied(s)
		m.killAll()
		taken := m.occupy()
		defer func() { _ = taken.Close() }()
		a.fails(fleetv1.Code_CODE_BIND)
		a.idles("while HAProxy cannot start")
		a.must(s.slots("a", 0, 0, p, 0))
		_ = taken.Close()
		a.applied(s)
		if got, want := m.servers("a"), fmt.Sprintf("- - %d -", p); got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
		if got := m.get("/a"); got != 200 {
			t.Errorf("status %d", got)
		}
		a.until("nothing stands in the way any more", func() bool { return a.failed() == nil })
	})
}

func TestHAProxyThatDiesIsStartedAgain(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		for name, dies := range map[string]func(*machine){
			"worker": func(m *machine) { m.kill(m.pid()) },
			"master": func(m *machine) { m.kill(m.processes().Master) },
			"all":    func(m *machine) { m.killAll() },
		} {
			t.Run(name, func(t *testing.T) {
				m := newMachine(t, binary)
				a, s, p := m.started()
				again := func(what string) {
					pid := m.pid()
					dies(m)
					a.until(what+": another worker", func() bool {
						w := a.Hello().Worker
						return w.GetPid() != 0 && int(w.GetPid()) != pid
					})
					a.must(s.slots("a", 0, p, 0, 0))
					a.applied(s)
					a.must(s.slots("a", p, 0, 0, 0))
					a.applied(s)
					if got := m.get("/a"); got != 200 {
						t.Errorf("%s: status %d", what, got)
					}
					if syscall.Kill(pid, 0) == nil && !m.leaving(pid) {
						t.Errorf("%s: worker %d lives on beside the new one", what, pid)
					}
				}
				again("as the agent's child")
				a.stop()
				a = m.start()
				a.applied(s)
				again("as nobody's child")
			})
		}
	})
}

// leaving says whether a process is a zombie or on its way out.
func (m *machine) leaving(pid int) bool {
	m.t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(text), ") Z ") {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		<-time.After(10 * time.Millisecond)
	}
}

// A reload by hand with files that are older than what the worker had: the slots are right at once, and the rest after a reload.
func TestAForeignReloadWithAnOldFileIsRepaired(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.ReloadSpacing = 8 * time.Second // also a busy machine meets the foreign worker before
		a, s, p := m.started()
		end := m.load("/a")
		defer end()
		a.until("the file is written", func() bool { return lines(m.config(), "a") != "" })
		old := m.config()
		q := pod(t, "b")
		a.must(s.change(backend("b"), route("/b", "b")))
		a.must(s.slots("a", 0, p, 0, 0))
		a.must(s.slots("b", q))
		a.applied(s)
		a.until("the file has it all", func() bool { return lines(m.config(), "b") != "" && strings.HasPrefix(lines(m.config(), "a"), "192") })
		if err := os.WriteFile(m.socket("haproxy.cfg"), []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		pid := m.pid()
		m.command("reload")
		a.until("the foreign worker has the newest slots", func() bool {
			return m.pid() != pid && m.servers("a") == fmt.Sprintf("- %d - -", p)
		})
		if lines(m.config(), "b") != "" {
			t.Error("only after a reload")
		}
		a.until("the node is not content", func() bool { return a.Hello().Applied.Revision.Digest != s.rev.Digest() })
		a.applied(s)
		if got := m.get("/b"); got != 200 {
			t.Errorf("status %d", got)
		}
		if n := a.counter("berth_agent_worker_restarts_total"); n < 1 {
			t.Error("the foreign worker is not counted")
		}
	})
}

// A reload by hand starts from a file that lags behind the runtime changes: no other reload is needed.
func TestAForeignReloadWithTheSameStructureNeedsNoOther(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.RefreshFiles = time.Hour
		a, s, p := m.started()
		end := m.load("/a")
		defer end()
		a.must(s.slots("a", 0, p, 0, 0))
		a.must(s.change(route("/late", "a")))
		a.applied(s)
		pid, before := m.pid(), m.reloads()
		m.command("reload")
		a.until("it is noticed", func() bool {
			w := int(a.Hello().Worker.GetPid())
			return w != 0 && w != pid
		})
		a.applied(s)
		if got, want := m.servers("a"), fmt.Sprintf("- %d - -", p); got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
		if got := m.get("/late"); got != 200 {
			t.Errorf("a route that only the worker before had: status %d", got)
		}
		<-time.After(time.Second)
		if n := m.reloads() - before; n != 1 {
			t.Errorf("%d reloads, 1 of them by hand", n)
		}
	})
}

func TestDriftByHandIsRepaired(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.Verify = 200 * time.Millisecond
		a, s, p := m.started()
		pid := m.pid()
		m.runtime("set server a/s1 state maint", "set server a/s2 addr 127.0.0.1 port 9", "set server a/s2 state ready")
		a.until("the slots are repaired", func() bool { return m.servers("a") == fmt.Sprintf("%d - - -", p) })
		m.runtime("del map maps/exact.map /a", "add map maps/exact.map /hand a")
		a.until("the routes are repaired", func() bool { return m.get("/a") == 200 && m.get("/hand") == 503 })
		a.until("both are told", func() bool { a.box.Again(); return a.box.Take().Observed.GetDrifts() >= 2 })
		a.applied(s)
		if m.pid() != pid {
			t.Error("by a reload")
		}
		m.runtime("add server a/byhand 127.0.0.1:9", "set server a/byhand state ready")
		a.until("the server of nobody is gone", func() bool { return m.servers("a") == fmt.Sprintf("%d - - -", p) })
		a.applied(s)
	})
}

// A HAProxy that answers to nobody must not keep its worker from being changed, nor the agent from ending.
func TestNODE9_AMasterThatDoesNotAnswer(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		a, s, p := m.started()
		thaw := m.freeze(m.processes().Master)
		defer thaw()
		<-time.After(200 * time.Millisecond) // the node looks meanwhile
		for i := range 20 {
			began := time.Now()
			a.must(s.slot("a", 1, i%2*p))
			a.applied(s)
			if took := time.Since(began); took > time.Second {
				t.Fatalf("a change took %s", took)
			}
		}
		a.idles("while the master does not answer")
	})
}

func TestAWorkerThatDoesNotAnswerForAWhile(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.CommandTimeout = 300 * time.Millisecond
		a, s, p := m.started()
		pid := m.pid()
		thaw := m.freeze(pid)
		a.must(s.slots("a", 0, p, 0, 0))
		if !a.Hello().Dirty {
			t.Error("a node that has begun to write does not say that it is dirty")
		}
		a.fails(fleetv1.Code_CODE_UNREACHABLE)
		a.idles("while the worker does not answer")
		a.must(s.slots("a", 0, 0, p, 0))
		thaw()
		a.applied(s)
		if got, want := m.servers("a"), fmt.Sprintf("- - %d -", p); got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
		a.until("nothing stands in the way any more", func() bool { return a.failed() == nil })
		if m.pid() != pid {
			t.Error("HAProxy was reloaded")
		}
	})
}
