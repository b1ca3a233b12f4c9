package node_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// An agent that comes back with another port brings its HAProxy there, by a reload. When that port is taken, HAProxy is let alone: it would serve nobody for seconds with
// each try. The reason is told, and when the port is free the node moves by itself.
func TestAnAgentThatComesBackWithAnotherPort(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m, a, s, p := started(t, binary)
		master := m.processes().Master
		a.stop()
		m.cfg.Settings.HTTPPort = freePort(t)
		a = m.start()
		a.until("it serves at the new port", func() bool { return m.answers("/a") })
		a.applied(s)
		a.stop()

		old := *m
		m.cfg.Settings.HTTPPort = freePort(t)
		taken, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", m.cfg.Settings.HTTPPort))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = taken.Close() }()
		end := old.load("/a")
		a = m.start()
		a.fails(fleetv1.Code_CODE_BIND)
		reloads := m.reloads()
		a.must(s.slots("a", 0, p, 0, 0))
		a.until("endpoints flow", func() bool { return m.servers("a") == fmt.Sprintf("- %d - -", p) })
		<-time.After(time.Second)
		a.idles("while the port is taken")
		if n := m.reloads() - reloads; n != 0 {
			t.Errorf("%d reloads", n)
		}
		end()
		_ = taken.Close()
		free := time.Now()
		a.applied(s)
		if took := time.Since(free); took > 5*time.Second {
			t.Errorf("it took %s to move when the port was free", took)
		}
		if !m.answers("/a") || m.processes().Master != master {
			t.Error("it does not serve at its port")
		}
		a.until("nothing stands in the way", func() bool { return a.failed() == nil })
	})
}
