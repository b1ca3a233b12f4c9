package node_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// While a reload is under way the loop turns for other reasons. That must not make it ask for the same reload once more.
func TestNODE8_OneStructuralChangeIsOneReload(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.AddServers = false
		a, s, p := m.started()
		once := func(what string, change ...wire.Update) {
			before := m.reloads()
			for _, u := range change {
				a.must(u)
			}
			for i := range 20 {
				a.must(s.slot("a", 3, i%2*p))
			}
			a.applied(s)
			<-time.After(2 * time.Second) // the next one would wait for twice the time that this one took
			if n := m.reloads() - before; n != 1 {
				t.Errorf("%d reloads for %s", n, what)
			}
		}
		once("a new backend", s.change(backend("b"), route("/b", "b")))
		once("a longer table", s.slots("a", p, 0, 0, 0, 0, p))
	})
}

// A revision that comes back to what runs needs no reload, whether one for what lies between is still to come or under way.
func TestNODE8_ARevisionThatComesBackIsNotReloadedFor(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.ReloadSpacing = 2 * time.Second
		a, s, _ := m.started()
		a.must(s.change(backend("b")))
		a.applied(s) // the next reload has to wait
		before := m.reloads()
		a.must(s.change(backend("c")))
		a.must(s.change(snapshot.Key{Kind: snapshot.KindBackend, Name: "c"}))
		a.applied(s)
		a.until("the time of the reload is over", func() bool { return a.counter("berth_agent_turns_total") > 0 })
		<-time.After(2500 * time.Millisecond)
		if n := m.reloads() - before; n != 0 {
			t.Errorf("%d reloads for nothing", n)
		}
	})
}

// P1: what a reload renders is the newest at the moment of writing, though the check before it took its time.
func TestAReloadRendersTheNewestSlots(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.RefreshFiles = time.Hour // only a reload writes
		checking, release := m.hold()
		release()
		a, s, p := m.started()
		q := pod(t, "b")
		_, release = m.holdAgain()
		a.must(s.change(backend("b")))
		a.until("HAProxy checks", checking)
		a.must(s.slots("a", 0, q, 0, p))
		a.until("the old worker has it meanwhile", func() bool { return m.servers("a") == fmt.Sprintf("- %d - %d", q, p) })
		release()
		a.applied(s)
		if got, want := lines(m.config(), "a"), fmt.Sprintf("192.0.2.1:1 127.0.0.1:%d 192.0.2.1:1 127.0.0.1:%d", q, p); got != want {
			t.Errorf("the configuration that the worker was started with has the servers %s, want %s", got, want)
		}
	})
}

// A reload that fails for a reason of the surroundings is Failed until it has succeeded, whatever else succeeds meanwhile.
func TestAFailedReloadIsToldUntilItSucceeds(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m, a, s, p := started(t, binary)
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = taken.Close() }()
		good, pid := s.rev, m.pid()
		a.must(s.change(&snapshot.Section{Type: "frontend", Name: "more from berth", Lines: []snapshot.Line{
			{"bind", taken.Addr().String()}, {"default_backend", "unavailable"},
		}}))
		a.fails(fleetv1.Code_CODE_BIND)
		a.until("the configuration on disk is the worker's again", func() bool { return !strings.Contains(m.config(), "frontend more") })
		a.must(s.slots("a", 0, p, 0, 0))
		a.until("the slot is applied, and the configuration on disk follows", func() bool { return strings.HasPrefix(lines(m.config(), "a"), "192.0.2.1:1 ") })
		if got := a.failed().GetCode(); got != fleetv1.Code_CODE_BIND {
			t.Errorf("while the port is taken the node says %s", got)
		}
		if a.Hello().Applied.Revision.Digest != good.Digest() || m.pid() != pid {
			t.Error("the last good revision does not go on")
		}
		a.idles("while a reload has failed")
		_ = taken.Close()
		a.applied(s)
		a.until("nothing stands in the way any more", func() bool { return a.failed() == nil })
	})
}

// Before the first revision that is good there is nothing to run, and one that is refused must not stand in the way of the next.
func TestARevisionThatIsRefusedAtFirstStart(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		a := m.start()
		s := newState()
		bad := backend("a")
		bad.Lines = []snapshot.Line{{"no-such-keyword"}}
		u := s.change(bad)
		u.Scope, u.Revision = fleetv1.Scope_SCOPE_EVERYTHING, s.rev.Full()
		a.must(u)
		a.must(s.slots("a", pod(t, "a"), 0))
		a.until("it is refused", func() bool { return len(a.Hello().Rejected) == 1 })
		a.idles("while nothing can be run")
		a.must(s.change(backend("a"), route("/a", "a")))
		a.applied(s)
		if got := m.get("/a"); got != 200 {
			t.Errorf("status %d", got)
		}
	})
}

// A plane that sends a refused revision again, after another, hears again that it is refused.
func TestARefusedRevisionThatComesAgainIsToldAgain(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		_, a, s, _ := started(t, binary)
		bad := backend("bad")
		bad.Lines = []snapshot.Line{{"no-such-keyword"}}
		a.must(s.change(bad))
		told := func() bool { return a.box.Take().Rejected != nil }
		a.until("it is refused", told)
		a.must(s.change(snapshot.Key{Kind: snapshot.KindBackend, Name: "bad"}))
		a.applied(s)
		a.must(s.change(bad))
		a.until("it is told again", told)
	})
}

// P5: a leaving worker finishes what it has, for as long as the revision's policy allows; then its request is cut off and it has ended, so that no connection keeps a
// worker, and its memory, for ever.
func TestALeavingWorkerEndsByTheHardStop(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m, a, s, _ := started(t, binary)
		silent, _ := silentPod(t)
		const allowed = 2 * time.Second
		a.must(s.change(backend("silent"), route("/silent", "silent"), &snapshot.Section{Type: "global", Lines: []snapshot.Line{{"hard-stop-after", "2s"}}}))
		a.must(s.slots("silent", silent))
		a.applied(s)
		a.until("the worker before has ended", func() bool { return len(m.processes().Old) == 0 })
		pid := m.pid()
		m.request("/silent")
		left := time.Now()
		a.must(s.change(backend("b")))
		a.applied(s)
		a.until("the old worker is told", func() bool { a.box.Again(); return a.box.Take().Observed.GetOldWorkers() == 1 })
		a.until("it has ended", func() bool { return m.leaving(pid) && len(m.processes().Old) == 0 })
		if took := time.Since(left); took < allowed || took > allowed+8*time.Second {
			t.Errorf("it has ended after %s", took)
		}
		a.until("that is told", func() bool { a.box.Again(); return a.box.Take().Observed.GetOldWorkers() == 0 })
	})
}
