package haproxy

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// many are backends that take a worker a while to start with.
func many(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "backend m%d from dd\n", i)
		for s := range 10 {
			fmt.Fprintf(&text, " server s%d 192.0.2.1:1 disabled\n", s+1)
		}
	}
	return text.String()
}

// A master that is reloading for somebody else says so, or drops the order: it is asked again until it follows it.
func TestReloadOfAMasterThatIsBusy(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := newMachine(t, v)
		m.configure(many(300))
		_, id := m.start()
		m.settle()
		before := m.reloads()
		for range 3 {
			ctx := within(t, 30*time.Second)
			byHand := make(chan string, 1)
			go func() {
				text, _ := command(ctx, m.master(), "reload")
				byHand <- text
			}()
			m.another(id) // a master that can lists it before it serves, so that it is not taken for ours
			began := time.Now()
			next, err := Reload(ctx, m.master(), m.worker(), id)
			if err != nil {
				t.Fatalf("after %v: %v", time.Since(began), err)
			}
			t.Logf("it took %v", time.Since(began))
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
			<-byHand
			m.settle()
			if id = next; !id.Alive() {
				t.Error("the new worker does not live")
			}
		}
		if n := m.reloads() - before; n < 3 {
			t.Errorf("%d reloads", n)
		}
	})
}

// another waits until the master lists another worker than this one, or it is clear that it cannot tell.
func (m *machine) another(id Identity) {
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); <-time.After(time.Millisecond) {
		p, err := Show(within(m.t, time.Second), m.master())
		if pid, ok := p.Current(); err == nil && ok && pid != id.PID {
			return
		}
	}
}

func (m *machine) reloads() int {
	m.t.Helper()
	p, err := Show(within(m.t, 10*time.Second), m.master())
	if err != nil {
		m.t.Fatal(err)
	}
	return p.Reloads
}

// The file of a master's socket is gone, and with it the way to the master: a signal reloads it, and it puts the socket back.
func TestReloadOfAMasterWhoseSocketIsGone(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := newMachine(t, v)
		p, id := m.start()
		m.settle()
		for range 2 {
			if err := os.Remove(m.master()); err != nil {
				t.Fatal(err)
			}
			master, ok := FindMaster(m.master())
			if !ok || master.PID != p.PID() || len(master.Children) == 0 || !master.Reads(m.path("haproxy.cfg")) || master.Reads(m.path("m.map")) {
				t.Fatalf("found %v, %v; want %d", master, ok, p.PID())
			}
			next, err := Reload(within(t, 10*time.Second), m.master(), m.worker(), id)
			if err != nil || next == id {
				t.Fatalf("Reload: %v, %v", next, err)
			}
			id = next
			m.settle()
			if s, err := Look(within(t, 5*time.Second), m.master(), id); err != nil || !s.Current {
				t.Errorf("Look = %+v, %v", s, err)
			}
		}
		m.end()
		if _, ok := FindMaster(m.master()); ok {
			t.Error("a master is found that has ended")
		}
		if _, err := Reload(within(t, 5*time.Second), m.master(), m.worker(), id); !errors.Is(err, ErrNotRunning) {
			t.Errorf("Reload of none: %v", err)
		}
	})
}

func TestCommands(t *testing.T) {
	for line, want := range map[string]bool{
		"/usr/sbin/haproxy -W -S /s/master.sock,mode,600 -f h.cfg ":     true,
		"ld-linux.so haproxy -sf 12 -x sockpair@5 -W -S /s/master.sock": true,
		"haproxy -W -S /s/master.sock2 -f h.cfg":                        false,
		"vi /s/master.sock":                                             false,
		"haproxy -S":                                                    false,
		"":                                                              false,
	} {
		if got := commands([]byte(strings.ReplaceAll(line, " ", "\x00")), "/s/master.sock"); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}
