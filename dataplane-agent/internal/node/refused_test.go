package node_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
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
