package node_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// P4: a table that outgrew its worker is a reload where this backend takes no servers at run time, though others do.
func TestATableGrowsInABackendThatTakesNoServers(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m, a, s, p := started(t, binary)
		static := backend("static")
		static.Lines = []snapshot.Line{{"balance", "static-rr"}}
		a.must(s.change(static, route("/static", "static")))
		a.must(s.slots("static", p, 0))
		a.applied(s)
		pid := m.pid()
		a.must(s.slots("static", p, p, p, 0))
		a.applied(s)
		if got, want := m.servers("static"), fmt.Sprintf("%d %d %d -", p, p, p); got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
		if m.pid() == pid {
			t.Error("without a reload")
		}
		if e := a.excepted(); len(e) > 0 {
			t.Errorf("excepted %v", e)
		}
	})
}

// excepted are the slots that the newest report of Applied excepts.
func (a *agent) excepted() []*fleetv1.ExceptedSlot {
	a.box.Again()
	return a.box.Take().Applied.GetExcepted()
}

func TestAnAdoptedWorkerIsGivenServersToo(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m, a, s, p := started(t, binary)
		capabilities := fmt.Sprint(a.Hello().Capabilities)
		pid := m.pid()
		a.stop()
		a = m.start()
		a.applied(s)
		if got := fmt.Sprint(a.Hello().Capabilities); got != capabilities {
			t.Errorf("capabilities %s, before the agent's restart %s", got, capabilities)
		}
		a.must(s.slots("a", p, 0, 0, 0, p, p))
		a.applied(s)
		if m.pid() != pid {
			t.Error("the table grew by a reload")
		}
	})
}

// NODE-7 holds for the configuration too: what HAProxy starts from has no server that is HAProxy itself.
func TestNODE7_NoConfigurationHasAnOwnListener(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		a := m.start()
		s := newState()
		u := s.change(backend("a"), route("/a", "a"))
		u.Scope, u.Revision = fleetv1.Scope_SCOPE_EVERYTHING, s.rev.Full()
		own := m.cfg.Settings.HTTPPort
		a.must(s.slots("a", own, 0))
		a.must(u)
		looped := func() bool { return strings.Contains(lines(m.config(), "a"), fmt.Sprintf(":%d", own)) }
		a.until("it is applied, and excepted", func() bool {
			if looped() {
				t.Fatal("the configuration of the start has a server that is HAProxy itself")
			}
			return a.Hello().Applied.Same(wire.MarksOf(s.rev, s.gen)) && len(a.excepted()) == 1
		})
		a.must(s.slots("a", 0, own))
		a.must(s.change(backend("b")))
		a.applied(s)
		if looped() {
			t.Error("the configuration of a reload has a server that is HAProxy itself")
		}
		if e := a.excepted(); len(e) != 1 || e[0].GetSlot() != 2 {
			t.Errorf("excepted %v", e)
		}
		a.until("the configuration is written anew", func() bool { return !strings.Contains(lines(m.config(), "a"), "127.0.0.1") })
		a.stop()
		a = m.start()
		a.applied(s)
		if looped() {
			t.Error("the configuration after a restart of the agent has a server that is HAProxy itself")
		}
		a.must(s.remove("a"))
		a.applied(s)
		if e := a.excepted(); len(e) > 0 {
			t.Errorf("the table is gone, and its slots are excepted: %v", e)
		}
	})
}

// remove is the update that takes a table away.
func (s *state) remove(backend string) wire.Update {
	d := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{backend: {Removed: true}}}
	u := wire.Update{Scope: fleetv1.Scope_SCOPE_CHANGES, From: wire.MarksOf(nil, s.gen), Generation: d, Seen: time.Now()}
	s.gen = s.gen.Apply(d, s.gen.Version.Next(1))
	u.To = wire.MarksOf(nil, s.gen)
	return u
}

// A plane confirms what is held already by an update without changes. The time until the next change is not how long that change took.
func TestAnUpdateWithoutChangesIsNotTimed(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		_, a, s, p := started(t, binary)
		to := wire.MarksOf(s.rev, s.gen)
		a.must(wire.Update{Scope: fleetv1.Scope_SCOPE_CHANGES, From: to, To: to})
		<-time.After(1500 * time.Millisecond)
		a.box.Take()
		a.must(s.slots("a", 0, p, 0, 0))
		a.applied(s)
		if took := a.box.Take().Applied.GetTook().AsDuration(); took > time.Second {
			t.Errorf("a change of one slot took %s", took)
		}
	})
}

// A master that was started with another file, which cannot be seen from outside, cannot be brought to what is wanted by reloads: that is told, and not tried once a second for ever.
func TestAMasterThatRunsAnotherFile(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.MasterSocket = m.socket("master.sock")
		other := fmt.Sprintf("global\n stats socket %s mode 600 level admin\n"+
			"defaults\n mode http\n timeout connect 1s\n timeout client 1s\n timeout server 1s\nfrontend f\n bind 127.0.0.1:%d\n", m.socket("worker.sock"), m.cfg.Settings.HTTPPort)
		file := m.socket("other.cfg")
		if err := os.WriteFile(file, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(context.Background(), binary, "-W", "-S", m.cfg.MasterSocket, "-C", m.dir, "-f", "other.cfg")
		cmd.Dir = m.dir // where endHAProxy looks for it
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { m.endHAProxy(); _ = cmd.Wait() }()
		a := m.start()
		s := newState()
		u := s.change(backend("a"))
		u.Scope, u.Revision = fleetv1.Scope_SCOPE_EVERYTHING, s.rev.Full()
		a.must(u)
		a.until("it is told", func() bool { return strings.Contains(a.failed().GetMessage(), "another") })
		before := m.reloads()
		<-time.After(3 * time.Second)
		if n := m.reloads() - before; n > 5 {
			t.Errorf("%d reloads in 3 s", n)
		}
		a.idles("while nothing helps")
	})
}
