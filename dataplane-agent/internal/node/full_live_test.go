package node_test

import (
	"fmt"
	"strings"
	"testing"

	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// P9: HAProxy dies while the disk is full. It is started with the configuration that is there, older than the slots, which are brought to the newest; and the disk is what is told.
func TestHAProxyDiesWhileTheDiskIsFull(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.smallDisk()
		a, s, p := m.started()
		a.until("the file has the slot", func() bool { return strings.HasPrefix(lines(m.config(), "a"), "127") })
		free := m.fill()
		a.must(s.slots("a", 0, p, 0, 0))
		a.applied(s)
		a.fails(fleetv1.Code_CODE_DISK)
		pid := m.pid()
		m.killAll()
		a.until("another worker is met", func() bool {
			w := a.Hello().Worker
			return w.GetPid() != 0 && int(w.GetPid()) != pid
		})
		a.applied(s)
		if got, want := m.servers("a"), fmt.Sprintf("- %d - -", p); got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
		if got := m.get("/a"); got != 200 {
			t.Errorf("status %d", got)
		}
		a.fails(fleetv1.Code_CODE_DISK)
		a.idles("while the disk is full")
		free()
		a.until("nothing stands in the way any more", func() bool { return a.failed() == nil })
		a.until("the file has the newest slots", func() bool { return strings.HasPrefix(lines(m.config(), "a"), "192.0.2.1:1 127") })
	})
}
