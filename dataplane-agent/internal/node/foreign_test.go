package node_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/certs"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// A state directory that another fleet's node has used: nothing of it is run by this one, not even what HAProxy would be started with if nobody knew whose it is. A HAProxy that
// runs is let be until the plane has said what is wanted, and then brought to it by a reload.
func TestAStateDirectoryOfAnotherFleet(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		for _, runs := range []bool{false, true} {
			m, a, _, p := started(t, binary)
			a.until("the file is written", func() bool { return lines(m.config(), "a") != "" })
			a.stop()
			if !runs {
				m.endHAProxy()
			}
			m.of = "other"
			a = m.start()
			<-time.After(500 * time.Millisecond)
			if h := a.Hello(); h.Held != (wire.Marks{}) || h.Applied != (wire.Marks{}) {
				t.Errorf("the node says that it has %+v", h)
			}
			if m.answers("/a") != runs {
				t.Errorf("HAProxy ran %v, and now serves %v", runs, !runs)
			}
			if !runs && a.Hello().Worker != nil {
				t.Error("HAProxy was started with another fleet's configuration")
			}
			a.idles("while nothing is known")
			s := newState()
			u := s.change(backend("theirs"), route("/theirs", "theirs"))
			u.Scope, u.Revision = fleetv1.Scope_SCOPE_EVERYTHING, s.rev.Full()
			a.must(u)
			a.must(s.slots("theirs", p, 0))
			a.applied(s)
			if m.get("/theirs") != 200 || m.get("/a") != 503 {
				t.Error("it does not serve what is wanted")
			}
			a.stop()
			a = m.start()
			a.applied(s) // the journal is this fleet's now
			a.stop()
			m.endHAProxy()
		}
	})
}

// What stands in a journal is nothing to rely on: with any of these the agent starts, adopts the HAProxy that serves, and is current when the plane has sent what it lacks. No request
// fails, and there is at most one reload.
func TestJournalsThatCannotBeReliedOn(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m, a, s, p := started(t, binary)
		a.must(s.change(backend("b"), route("/b", "b")))
		a.must(s.slots("b", p, 0))
		a.applied(s)
		end := m.load("/a")
		defer end()
		for name, spoil := range map[string]func([]byte) []byte{
			"empty":     func([]byte) []byte { return nil },
			"truncated": func(b []byte) []byte { return b[:2*len(b)/3] },
			"altered":   func(b []byte) []byte { b[len(b)/2] ^= 0x40; return b },
			"newer": func(b []byte) []byte {
				return []byte(strings.Replace(string(b), "berth journal 1", "berth journal 2", 1))
			},
			"noise": func(b []byte) []byte { return append(b[:len(b)/4], make([]byte, 4096)...) },
			"gone":  nil,
		} {
			a.stop()
			text, err := os.ReadFile(m.socket("journal/log"))
			if err != nil {
				t.Fatal(err)
			}
			reloads := m.reloads()
			if spoil == nil {
				err = os.Remove(m.socket("journal/log"))
			} else {
				err = os.WriteFile(m.socket("journal/log"), spoil(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			s.slot("a", 1, p) // it has changed meanwhile
			s.slot("a", 1, 0)
			a = m.start()
			a.must(wire.Everything(s.rev, s.gen))
			a.applied(s)
			if n := m.reloads() - reloads; n > 1 {
				t.Errorf("%s: %d reloads", name, n)
			}
		}
	})
}

// The journal is written beside the reports, so an agent that was killed may be followed by one that knows less than the worker has. It takes nothing back before its plane has had
// time to speak, and nothing at all where the journal is damaged.
func TestNODE14_NothingNewerIsTakenBack(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		for name, spoil := range map[string]func([]byte) []byte{
			"behind":  func(b []byte) []byte { return b },
			"damaged": func(b []byte) []byte { return append(b, 1) },
		} {
			m := newMachine(t, binary)
			m.cfg.Grace = 2 * time.Second
			a, s, p := m.started()
			a.stop()
			older, err := os.ReadFile(m.socket("journal/log"))
			if err != nil {
				t.Fatal(err)
			}
			a = m.start()
			a.applied(s)
			a.must(s.slots("a", 0, p, 0, 0))
			a.must(s.change(route("/new", "a")))
			a.applied(s)
			a.must(s.change(backend("b"), route("/b", "b"))) // which the journal does not know at all
			a.applied(s)
			a.until("the file follows", func() bool { return lines(m.config(), "b") == "" && strings.HasPrefix(lines(m.config(), "a"), "192") })
			a.stop()
			if err := os.WriteFile(m.socket("journal/log"), spoil(older), 0o600); err != nil {
				t.Fatal(err)
			}
			pid, config := m.pid(), m.config()
			kept := func(when string) {
				t.Helper()
				if got := m.servers("a"); got != fmt.Sprintf("- %d - -", p) || !m.answers("/new") || m.pid() != pid || m.config() != config {
					t.Errorf("%s, %s: servers %q, worker %d, before %d", name, when, got, m.pid(), pid)
				}
			}
			a = m.start()
			a.until("the worker is met", func() bool { return a.Hello().Worker != nil })
			if h := a.Hello(); !h.Dirty || h.Applied != (wire.Marks{}) {
				t.Errorf("%s: the node says that it has %v, dirty %v", name, h.Applied, h.Dirty)
			}
			a.idles("while it waits for its plane")
			kept("before the plane has spoken")
			if name == "damaged" {
				<-time.After(2 * m.cfg.Grace)
				kept("long before the plane has spoken")
			}
			a.must(wire.Everything(s.rev, s.gen))
			a.applied(s)
			kept("at the end")
			a.stop()
			m.endHAProxy()
		}
	})
}

// writable mounts the machine's folder so that it can be written, or not.
func (m *machine) writable(can bool) {
	m.t.Helper()
	flags := uintptr(syscall.MS_REMOUNT)
	if !can {
		flags |= syscall.MS_RDONLY
	}
	for deadline := time.Now().Add(5 * time.Second); ; <-time.After(5 * time.Millisecond) {
		err := syscall.Mount("berth-test", m.dir, "tmpfs", flags, "size=1m")
		if err == nil {
			return
		}
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) { // somebody is just writing
			m.t.Skipf("SKIPPED, not proved here: a folder cannot be made read-only: %v", err)
		}
	}
}

// The state directory cannot be written for a while: endpoints flow, reloads wait, the reason is told, and an agent that ends in between is followed by one that adopts HAProxy.
func TestAStateDirectoryThatCannotBeWritten(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.smallDisk()
		// What HAProxy itself writes would keep the folder from being made read-only.
		m.cfg.HAProxy = m.quiet()
		m.cfg.Verify = 200 * time.Millisecond
		a, s, p := m.started()
		a.until("the files are written", func() bool { return lines(m.config(), "a") != "" })
		end := m.load("/a")
		defer end()
		a.stop()
		if strings.HasSuffix(t.Name(), "/old") {
			a.until("the master has executed itself again: it would not survive that later", m.waits)
		}
		m.writable(false)
		a = m.start()
		a.applied(s)
		pid := m.pid()
		// A reload that needs no file to be written waits, too: a master of 2.6 would end in it.
		m.runtime("add server a/byhand 127.0.0.1:9 weight 0", "set server a/byhand state ready")
		a.until("the server of nobody is found", func() bool { return a.drifts() > 0 })
		a.idles("while a reload waits")
		a.fails(fleetv1.Code_CODE_DISK)
		m.runtime("set server a/byhand state maint")
		a.must(s.slots("a", 0, p, 0, 0))
		a.until("endpoints flow", func() bool { return strings.HasPrefix(m.servers("a"), fmt.Sprintf("- %d - -", p)) })
		text := certificate(t)
		a.must(s.change(backend("b"), route("/b", "b"),
			&snapshot.Certificate{Name: "n/c", ServerNames: []string{"x.example"}, Content: snapshot.PEMDigest(text), PEM: text}))
		a.must(s.slots("b", p, 0))
		a.must(s.slots("a", p, 0, 0, 0))
		a.until("the slot is applied", func() bool { return strings.HasPrefix(m.servers("a"), fmt.Sprintf("%d - - -", p)) })
		a.fails(fleetv1.Code_CODE_DISK)
		a.idles("while nothing can be written")
		if m.pid() != pid {
			t.Error("HAProxy was reloaded")
		}
		m.writable(true)
		over := time.Now()
		a.applied(s)
		if took := time.Since(over); took > 5*time.Second {
			t.Errorf("it took %s to be current when the disk could be written", took)
		}
		a.until("nothing stands in the way", func() bool { return a.failed() == nil })
		if !m.there(certs.File(&snapshot.Certificate{Content: snapshot.PEMDigest(text)})) || m.get("/b") != 200 {
			t.Error("what waited is not there")
		}
		end()
		a.stop()
		a = m.start()
		a.applied(s) // the journal has it all
	})
}

// quiet is HAProxy with its output elsewhere.
func (m *machine) quiet() string {
	m.t.Helper()
	path := m.t.TempDir() + "/haproxy.sh"
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = -W ] || exec %q \"$@\"\nexec %q \"$@\" >/dev/null 2>&1\n", m.cfg.HAProxy, m.cfg.HAProxy)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		m.t.Fatal(err)
	}
	return path
}

// waits says whether a master of 2.6 has executed itself again after its start, and listens.
func (m *machine) waits() bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", m.processes().Master))
	if err != nil || !strings.Contains(string(text), "HAPROXY_MWORKER_WAIT_ONLY=1") {
		return false
	}
	m.processes()
	return true
}
