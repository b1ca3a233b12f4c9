package node_test

import (
	"fmt"
	"testing"
)

// NODE-2, P1: a configuration cannot say that a server drains, so a new worker has to be told, as of everything that has changed since its configuration was written.
func TestNODE2_ANewWorkerIsToldWhatItsConfigurationCannotSay(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		checking, release := m.hold()
		release()
		a, s, p := m.started()
		pid, q := m.pid(), pod(t, "b")
		_, release = m.holdAgain()
		a.must(s.change(backend("b")))
		a.until("HAProxy checks", checking)
		a.must(s.slots("a", -p, q, 0, 0))
		want := fmt.Sprintf("(%d) %d - -", p, q)
		a.until("the old worker has it", func() bool { return m.servers("a") == want })
		release()
		a.applied(s)
		if m.pid() == pid {
			t.Error("applied, and the old worker still runs")
		}
		if got := m.servers("a"); got != want {
			t.Errorf("the new worker has %q, want %q", got, want)
		}
	})
}
