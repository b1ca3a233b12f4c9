package node_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/certs"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// empty removes everything that is in the state directory.
func (m *machine) empty() {
	m.t.Helper()
	list, err := os.ReadDir(m.dir)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, f := range list {
		err := os.RemoveAll(m.socket(f.Name()))
		for errors.Is(err, syscall.ENOTEMPTY) { // the agent puts back what is being removed
			err = os.RemoveAll(m.socket(f.Name()))
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

// remove removes the state directory itself.
func (m *machine) remove() {
	m.t.Helper()
	err := os.RemoveAll(m.dir)
	for errors.Is(err, syscall.ENOTEMPTY) { // the agent puts back what is being removed
		err = os.RemoveAll(m.dir)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// there says whether files are in the state directory.
func (m *machine) there(names ...string) bool {
	for _, name := range names {
		if _, err := os.Lstat(m.socket(name)); err != nil {
			return false
		}
	}
	return true
}

// load sends requests until end is called, which fails the test if one of them failed.
func (m *machine) load(path string) (end func()) {
	done := make(chan struct{})
	var sent int
	var failed []string
	var asking sync.WaitGroup
	asking.Go(func() { sent, failed = m.requests(path, done) })
	return sync.OnceFunc(func() {
		close(done)
		asking.Wait()
		if len(failed) > 0 {
			m.t.Errorf("%d of %d requests failed, the first: %s", len(failed), sent, failed[0])
		}
	})
}

// NODE-11: somebody empties the state directory under a HAProxy that runs. It serves on, endpoints flow, and everything comes back by itself: files from what the node
// knows, the sockets by a reload, and later reloads work.
func TestNODE11_AnEmptiedStateDirectory(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.SocketGone = 500 * time.Millisecond
		a, s, p := m.started()
		end := m.load("/a")
		defer end()
		master, drifts := m.processes().Master, a.drifts()
		for range 2 {
			m.empty()
			a.must(s.slots("a", 0, p, 0, 0))
			a.applied(s) // at once, on the connection that is open
			a.until("everything is there again", func() bool {
				return m.there("haproxy.cfg", "maps/exact.map", "certs/crt-list", "certs/default.pem", "master.sock", "worker.sock", "haproxy.master", "journal/log")
			})
			a.until("the worker listens at its socket", func() bool { return m.ask(func(*haproxy.Runtime) {}) == nil })
			a.applied(s)
			a.until("nothing stands in the way", func() bool { return a.failed() == nil })
			if got, want := m.servers("a"), fmt.Sprintf("- %d - -", p); got != want {
				t.Errorf("servers %q, want %q", got, want)
			}
			a.must(s.slots("a", p, 0, 0, 0))
			a.must(s.change(backend("b"), route("/b", "b")))
			a.must(s.slots("b", p, 0))
			a.applied(s)
			if got := m.get("/b"); got != 200 {
				t.Errorf("after the next reload: status %d", got)
			}
			a.must(s.change(snapshot.Key{Kind: snapshot.KindBackend, Name: "b"}, snapshot.EntryKey("exact", "/b")))
			a.must(s.remove("b"))
			a.applied(s)
		}
		if m.processes().Master != master {
			t.Error("HAProxy was started again")
		}
		if a.drifts() == drifts {
			t.Error("it is not told")
		}
		a.stop()
		a = m.start()
		a.applied(s) // the journal has it all
	})
}

// NODE-11: the directory itself goes, which was once HAProxy's working directory: a master without one reloads never again, or dies of it.
func TestNODE11_ARemovedStateDirectory(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.SocketGone = 500 * time.Millisecond
		a, s, p := m.started()
		end := m.load("/a")
		defer end()
		master := m.processes().Master
		m.remove()
		a.until("everything is there again", func() bool {
			return m.there("haproxy.cfg", "maps/exact.map", "certs/crt-list", "master.sock", "worker.sock", "haproxy.master", "journal/log")
		})
		a.until("the worker listens at its socket", func() bool { return m.ask(func(*haproxy.Runtime) {}) == nil })
		a.must(s.slots("a", p, 0, 0, 0))
		a.must(s.change(backend("b"), route("/b", "b")))
		a.must(s.slots("b", p, 0))
		a.applied(s)
		if got := m.get("/b"); got != 200 {
			t.Errorf("after the next reload: status %d", got)
		}
		if m.processes().Master != master {
			t.Error("HAProxy was started again")
		}
	})
}

// NODE-11: the agent ends, too, before it has noticed. The next one knows nothing, finds the HAProxy by its command line, starts no other, and is current when the plane has
// sent everything.
func TestNODE11_AnEmptiedStateDirectoryAndAnAgentThatIsNew(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.SocketGone = 500 * time.Millisecond
		a, s, p := m.started()
		end := m.load("/a")
		defer end()
		master := m.processes().Master
		a.stop()
		m.empty()
		a = m.start()
		a.fails(fleetv1.Code_CODE_UNREACHABLE)
		a.idles("while it cannot reach HAProxy")
		a.must(wire.Everything(s.rev, s.gen))
		a.applied(s)
		a.must(s.slots("a", 0, p, 0, 0))
		a.applied(s)
		if m.processes().Master != master {
			t.Error("HAProxy was started again")
		}
	})
}

// The file of a certificate goes while the agent runs: the plane is greeted anew, with less than before, and sends it again. HAProxy needs no reload for it, and none
// happens meanwhile that it could not come through.
func TestACertificateFileThatGoesWhileTheAgentRuns(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m, a, s, p := started(t, binary)
		text := certificate(t)
		c := &snapshot.Certificate{Name: "n/c", ServerNames: []string{"x.example"}, Content: snapshot.PEMDigest(text), PEM: text}
		a.must(s.change(c))
		a.applied(s)
		pid := m.pid()
		for name, lose := range map[string]func(path string) error{
			"removed": os.Remove,
			"damaged": func(path string) error {
				if err := os.Remove(path); err != nil {
					return err
				}
				return os.WriteFile(path, []byte("x"), 0o600)
			},
		} {
			a.box.Take()
			if err := lose(m.socket(certs.File(c))); err != nil {
				t.Fatal(err)
			}
			a.until(name+": the plane is to be greeted", func() bool { return a.box.Take().Greet })
			if a.Hello().Held.Revision.Digest == s.rev.Digest() {
				t.Error(name + ": the node does not tell that it lacks something")
			}
			a.fails(fleetv1.Code_CODE_DISK)
			a.must(s.slot("a", 1, p))
			a.until("endpoints flow", func() bool { return m.servers("a") == m.wants(s, "a") })
			u := s.change(c)
			u.Scope, u.Revision = fleetv1.Scope_SCOPE_EVERYTHING, s.rev.Full()
			a.must(u)
			a.applied(s)
			a.until("nothing stands in the way", func() bool { return a.failed() == nil })
			if got, err := os.ReadFile(m.socket(certs.File(c))); err != nil || string(got) != string(text) {
				t.Errorf("%s: the file is not there again (%v)", name, err)
			}
		}
		if m.pid() != pid {
			t.Error("HAProxy was reloaded though it runs what is wanted")
		}
		a.stop()
		a = m.start()
		a.applied(s) // the journal can be read
	})
}

// P9: the journal cannot be read, no plane answers, and HAProxy has ended: it is started with what it ran last. When the plane sends the same, nothing reloads.
func TestAConfigurationIsStartedThatNobodyRemembers(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		for _, journal := range []string{"", "berth journal 2\nof the future", "\x00\x00"} {
			m, a, s, p := started(t, binary)
			a.until("the file is written", func() bool { return lines(m.config(), "a") != "" })
			a.stop()
			m.endHAProxy()
			if err := os.WriteFile(m.socket("journal/log"), []byte(journal), 0o600); err != nil {
				t.Fatal(err)
			}
			a = m.start()
			a.until("HAProxy serves", func() bool { return m.answers("/a") })
			a.until("it is met", func() bool { return a.Hello().Worker != nil })
			if h := a.Hello(); !h.Dirty || h.Applied != (wire.Marks{}) {
				t.Errorf("the node says that it has %v, dirty %v", h.Applied, h.Dirty)
			}
			pid := m.pid()
			s.slot("a", 1, p) // it has changed meanwhile
			a.must(wire.Everything(s.rev, s.gen))
			a.applied(s)
			if m.pid() != pid {
				t.Error("HAProxy was reloaded though it runs what is wanted")
			}
			a.stop()
			m.endHAProxy()
			// What an agent has not written is not run.
			if err := os.WriteFile(m.socket("haproxy.cfg"), []byte("frontend f\n bind 127.0.0.1:1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(m.socket("journal/log"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			a = m.start()
			<-time.After(300 * time.Millisecond)
			a.idles("while there is nothing to run")
			if f := a.failed(); f != nil || a.Hello().Worker != nil {
				t.Errorf("with a configuration of somebody else: %v", f)
			}
			a.stop()
		}
	})
}

// A HAProxy that is started and does not come to serve is told after some seconds, not only when the time for it is over.
func TestAStartThatHangsIsTold(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.Slow = 300 * time.Millisecond
		hung := filepath.Join(m.dir, "hung")
		real := m.cfg.HAProxy
		m.cfg.HAProxy = m.socket("haproxy.sh")
		script := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = -W ]; then while [ -e %q ]; do sleep 0.05; done; fi\nexec %q \"$@\"\n", hung, real)
		if err := os.WriteFile(m.cfg.HAProxy, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(hung, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		a := m.start()
		s := newState()
		u := s.change(backend("a"), route("/a", "a"))
		u.Scope, u.Revision = fleetv1.Scope_SCOPE_EVERYTHING, s.rev.Full()
		a.must(u)
		began := time.Now()
		a.fails(fleetv1.Code_CODE_START)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("after %s", took)
		}
		if text := a.failed().GetMessage(); !strings.Contains(text, "does not serve yet") {
			t.Errorf("it says %q", text)
		}
		if err := os.Remove(hung); err != nil {
			t.Fatal(err)
		}
		a.applied(s)
		a.until("nothing stands in the way", func() bool { return a.failed() == nil })
	})
}
