package node_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// drifts is what the node has told of drift.
func (a *agent) drifts() uint64 {
	a.box.Again()
	return a.box.Take().Observed.GetDrifts()
}

// answers says whether a path is answered with 200.
func (m *machine) answers(path string) bool { return m.try(path) == nil }

// A frontend that somebody has closed at the runtime socket is an outage: it is found by the next looks, not at the next verification, opened again, and told.
func TestAFrontendThatIsClosedByHand(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m, a, s, _ := started(t, binary) // it verifies every 30 s
		<-time.After(300 * time.Millisecond)
		if n := a.drifts(); n != 0 {
			t.Fatalf("nobody has changed anything, and the node tells of %d drifts", n)
		}
		pid, told := m.pid(), uint64(0)
		for _, hand := range []string{
			"disable frontend web", "set maxconn frontend web 0", "set maxconn global 1", "set rate-limit connections global 1", "set rate-limit sessions global 1",
		} {
			m.runtime(hand)
			a.until(hand+" is told", func() bool { return a.drifts() > told })
			told = a.drifts()
			a.until(hand+" is taken back", func() bool { return m.answers("/a") && m.intake() == "OPEN, all of all, 0 and 0" })
		}
		if m.pid() != pid {
			t.Error("by a reload")
		}
		m.runtime("shutdown frontend web")
		a.until("a reload brings the frontend back", func() bool { return m.answers("/a") && m.pid() != pid })
		if a.drifts() <= told {
			t.Error("it is not told")
		}
		a.applied(s)
		<-time.After(300 * time.Millisecond)
		if told = a.drifts(); told > 12 {
			t.Errorf("%d drifts of 6 changes", told)
		}
	})
}

// intake describes what the worker lets in.
func (m *machine) intake() string {
	m.t.Helper()
	text := ""
	m.worker(func(r *haproxy.Runtime) {
		info, stats, err := r.InfoAndStats(context.Background(), haproxy.StatFrontend, "web")
		if err != nil || len(stats) != 1 {
			m.t.Fatal(stats, err)
		}
		all := func(n int) string {
			if n == info.HardMaxConn {
				return "all"
			}
			return fmt.Sprint(n)
		}
		text = fmt.Sprintf("%s, %s of %s, %d and %d", stats[0].Status, all(stats[0].Limit), all(info.MaxConn), info.ConnRate, info.SessRate)
	})
	return text
}

// What keeps a server or a backend from traffic though its slot is ready is found at a verification.
func TestHealthThatIsChangedByHand(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.Verify = 200 * time.Millisecond
		a, s, p := m.started()
		a.must(s.change(&snapshot.Backend{Name: "checked", Defaults: "berth", ServerOptions: []string{"check", "inter", "100ms", "maxconn", "40"}}, route("/checked", "checked")))
		a.must(s.slots("checked", p, 0))
		a.applied(s)
		<-time.After(500 * time.Millisecond)
		if n := a.drifts(); n != 0 {
			t.Fatalf("nobody has changed anything, and the node tells of %d drifts", n)
		}
		pid, told := m.pid(), uint64(0)
		hands := []string{"set server a/s1 health down", "set server a/s1 health stopping", "set maxconn server checked/s1 1", "disable health checked/s1"}
		for _, c := range a.Hello().Capabilities {
			if c == fleetv1.Capability_CAPABILITY_ADD_BACKEND {
				hands = append(hands, "unpublish backend a")
			}
		}
		for _, hand := range hands {
			m.runtime(hand)
			a.until(hand+" is told", func() bool { return a.drifts() > told })
			told = a.drifts()
			a.until(hand+" is taken back", func() bool { return m.answers("/a") && m.answers("/checked") && m.health() == "40 checked, 0" })
		}
		if m.pid() != pid {
			t.Error("by a reload")
		}
	})
}

// health describes what keeps the servers from traffic.
func (m *machine) health() string {
	m.t.Helper()
	text := ""
	m.worker(func(r *haproxy.Runtime) {
		servers, err := r.ServersState(context.Background(), "checked")
		stats, statErr := r.Stats(context.Background(), haproxy.StatServer, "checked", "a")
		if err != nil || statErr != nil {
			m.t.Fatal(err, statErr)
		}
		limits := map[string]int{}
		for _, s := range stats {
			limits[s.Proxy+"/"+s.Name] = s.Limit
		}
		checks := "checked"
		if servers[0].Unchecked {
			checks = "unchecked"
		}
		text = fmt.Sprintf("%d %s, %d", limits["checked/s1"], checks, limits["a/s1"])
	})
	return text
}
