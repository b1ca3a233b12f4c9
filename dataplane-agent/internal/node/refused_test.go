package node_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// counted puts a script before the binary that notes each `haproxy -c`, and returns how often there was one.
func (m *machine) counted() func() int {
	m.t.Helper()
	notes, real := m.socket("checks"), m.cfg.HAProxy
	m.cfg.HAProxy = m.socket("counted.sh")
	script := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = -c ]; then echo >>%q; fi\nexec %q \"$@\"\n", notes, real)
	if err := os.WriteFile(m.cfg.HAProxy, []byte(script), 0o700); err != nil {
		m.t.Fatal(err)
	}
	return func() int { text, _ := os.ReadFile(notes); return strings.Count(string(text), "\n") }
}

// A refused revision costs one check, however long it stays the newest and whatever else changes beside it.
func TestNODE5_ARefusedRevisionIsNotTriedAgain(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		checks := m.counted()
		a, s, p := m.started()
		before := checks()
		bad := backend("bad")
		bad.Lines = []snapshot.Line{{"no-such-keyword"}}
		began := time.Now()
		a.must(s.change(bad))
		a.until("it is refused", func() bool { return len(a.Hello().Rejected) == 1 })
		enough := 200*time.Millisecond + 5*time.Since(began)/2 // the next try would be after twice the time that this one took
		for i := range 10 {
			a.must(s.slot("a", 3, i%2*p))
			<-time.After(enough / 10)
		}
		if n := checks() - before; n != 1 {
			t.Errorf("HAProxy was asked %d times about one revision", n)
		}
	})
}

// Somebody writes into the configuration between the agent and HAProxy, which refuses it then. The revision is not to blame: it is not remembered as refused, and is there as soon as
// nobody comes between.
func TestNODE5_AFileThatSomebodyHasChangedIsNoVerdict(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		a, s, p := m.started()
		path := m.socket("haproxy.cfg")
		done := make(chan struct{})
		var meddling sync.WaitGroup
		meddling.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(200 * time.Microsecond):
				}
				if text, err := os.ReadFile(path); err == nil && !strings.Contains(string(text), "by-hand") {
					_ = os.WriteFile(path, append(text, "\nlisten by-hand\n  no-such-keyword\n"...), 0o600)
				}
			}
		})
		stop := sync.OnceFunc(func() { close(done); meddling.Wait() })
		defer stop()
		a.must(s.change(backend("b"), route("/b", "b")))
		a.must(s.slots("b", p, 0))
		a.fails(fleetv1.Code_CODE_START)
		if r := a.Hello().Rejected; len(r) > 0 {
			t.Errorf("the revision is blamed: %v", r)
		}
		stop()
		a.applied(s)
		if got := m.get("/b"); got != 200 {
			t.Errorf("status %d", got)
		}
	})
}
