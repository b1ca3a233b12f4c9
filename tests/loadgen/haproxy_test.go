package loadgen

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
)

// A generator that cannot fail proves nothing about the proxy that it is sent through. These tests show, with a real
// HAProxy that a person might have configured, that it is silent when all is well and loud when it is not.

type site struct {
	plain    *haproxy.Plain
	web, api *cluster.Deployment
	targets  []Target
	routes   []Route
}

func newSite(t *testing.T, h harness.HAProxy, defaults ...string) *site {
	t.Helper()
	c := cluster.New(cluster.Options{Dir: t.TempDir()})
	t.Cleanup(func() { check(t, c.Close()) })
	s := &site{}
	var err error
	s.web, err = c.Deploy(t.Context(), cluster.Spec{Namespace: "shop", Name: "web"}, 2)
	check(t, err)
	s.api, err = c.Deploy(t.Context(), cluster.Spec{Namespace: "shop", Name: "api"}, 2)
	check(t, err)
	secret, err := cluster.Certificate("shop", "cert", "web.example.com", "api.example.com")
	check(t, err)
	pem := filepath.Join(t.TempDir(), "site.pem")
	check(t, os.WriteFile(pem, []byte(secret.StringData["tls.crt"]+secret.StringData["tls.key"]), 0o600))
	s.plain, err = haproxy.StartPlain(haproxy.PlainOptions{
		Binary: h.Path, Dir: t.TempDir(), Address: fmt.Sprintf("127.0.0.1:%d", harness.Port(t)),
		TLSAddress: fmt.Sprintf("127.0.0.1:%d", harness.Port(t)), Certificate: pem, Defaults: defaults,
		Services: map[string]string{"shop/web": "web.example.com", "shop/api": "api.example.com"},
	})
	check(t, err)
	t.Cleanup(func() { check(t, s.plain.Stop()) })
	check(t, s.plain.Set("shop/web", s.web.Ready()))
	check(t, s.plain.Set("shop/api", s.api.Ready()))
	s.targets = []Target{{Name: "plain", Address: s.plain.Address()}}
	s.routes = []Route{{Host: "web.example.com", Service: "shop/web"}, {Host: "api.example.com", Path: "/v1", Service: "shop/api"}}
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// during sends load while f runs.
func (s *site) during(t *testing.T, loads []Load, f func(g *Generator)) Stats {
	t.Helper()
	g, err := New(Config{Targets: s.targets, Routes: s.routes, Loads: loads, Rate: 3000})
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan Stats, 1)
	go func() { done <- g.Run(ctx) }()
	f(g)
	cancel()
	return <-done
}

// requests waits until some more requests have been sent.
func requests(t *testing.T, g *Generator, n int64) {
	t.Helper()
	n += g.Stats().Requests
	harness.WaitFor(t, 20*time.Second, "requests", func() bool { return g.Stats().Requests >= n })
}

var reloadSafe = []string{"retries 3", "option redispatch", "option idle-close-on-response"}

// Every profile, in clear text and over TLS, for long enough that idle connections are closed by HAProxy, with some
// reloads and a rolling restart on the way: not one failure.
func TestNoFailureWhenNothingIsWrong(t *testing.T) {
	harness.ForEachHAProxy(t, func(t *testing.T, h harness.HAProxy) {
		s := newSite(t, h, reloadSafe...)
		s.targets = append(s.targets, Target{Name: "plain-tls", Address: s.plain.TLSAddress(), TLS: true})
		loads := append(Mix(2), Load{Profile{Name: "slow", Slow: 700 * time.Millisecond}, 2})
		stats := s.during(t, loads, func(g *Generator) {
			harness.WaitFor(t, 30*time.Second, "an idle connection of each kind to be used again", func() bool {
				s := g.Stats()
				return s.Reopened >= 4 && s.Profiles[IdleLong.Name].Requests >= 40 && s.Profiles[IdleShort.Name].Requests >= 40
			})
			for range 3 {
				check(t, s.plain.Reload())
				requests(t, g, 200)
			}
		})
		if stats.Failures > 0 || len(stats.Pods) != 4 {
			t.Error(stats)
		}
		for _, l := range loads {
			if stats.Profiles[l.Name].Requests == 0 {
				t.Errorf("no request of profile %s", l.Name)
			}
		}
		t.Log(stats)
	})
}

// HAProxy closes a connection without an answer when a request that is not its first meets the killed pod: net/http would
// send that request again, and nobody would know. Later ones get 503.
func TestSeesAPodThatIsKilled(t *testing.T) {
	harness.ForEachHAProxy(t, func(t *testing.T, h harness.HAProxy) {
		s := newSite(t, h, reloadSafe...)
		s.routes = s.routes[:1]
		for _, p := range []Profile{KeepAlive, Post, HTTP2, {Name: "slow", Slow: 5 * time.Second}} {
			check(t, s.web.Scale(t.Context(), 2, cluster.Ending{}))
			check(t, s.plain.Set("shop/web", s.web.Ready()))
			stats := s.during(t, []Load{{p, 4}}, func(g *Generator) {
				harness.WaitFor(t, 10*time.Second, "requests at the pods", func() bool {
					n, err := s.web.Pods()[0].Requests()
					return err == nil && n > 0
				})
				for _, pod := range s.web.Pods() {
					check(t, s.web.Bury(pod)) // the plain HAProxy is not told
				}
				harness.WaitFor(t, 20*time.Second, "a failure to be seen", func() bool { return g.Stats().Kinds[Status] > 0 })
			})
			t.Logf("%s: %s", p.Name, stats)
		}
	})
}

func TestSeesTheWrongService(t *testing.T) {
	harness.ForEachHAProxy(t, func(t *testing.T, h harness.HAProxy) {
		s := newSite(t, h, reloadSafe...)
		for _, p := range []Profile{NewConnections, Post, HTTP2} {
			check(t, s.plain.Set("shop/web", s.web.Ready()))
			stats := s.during(t, []Load{{p, 4}}, func(g *Generator) {
				requests(t, g, 50)
				if failures := g.Stats().Failures; failures > 0 {
					t.Errorf("%s: %d failures before anything was wrong", p.Name, failures)
				}
				check(t, s.plain.Set("shop/web", s.api.Ready()))
				requests(t, g, 100)
			})
			if stats.Kinds[Stranger] == 0 || stats.Kinds[Stranger] != stats.Failures {
				t.Errorf("%s: %s", p.Name, stats)
			}
		}
	})
}

// The race that net/http hides: a worker that leaves closes its idle connections, and some just as a request arrives.
// With the option it closes them with an answer.
func TestSeesAPOSTThatMeetsAClose(t *testing.T) {
	loads := []Load{{Profile{Name: "post", Method: "POST", MaxGap: 2 * time.Millisecond}, 24}}
	reload := func(t *testing.T, s *site, enough func(Stats) bool) Stats {
		return s.during(t, loads, func(g *Generator) {
			for end := time.Now().Add(40 * time.Second); time.Now().Before(end) && !enough(g.Stats()); {
				check(t, s.plain.Reload())
				requests(t, g, 100)
			}
		})
	}
	harness.ForEachHAProxy(t, func(t *testing.T, h harness.HAProxy) {
		without := newSite(t, h, "retries 3", "option redispatch")
		reloads := 0
		stats := reload(t, without, func(s Stats) bool { reloads++; return s.Races >= 3 })
		t.Logf("without idle-close-on-response, %d reloads: %s", reloads-1, stats)
		if stats.Races < 3 || stats.Races != stats.Failures {
			t.Errorf("without idle-close-on-response: %s", stats)
		}
		left := max(10, reloads)
		stats = reload(t, newSite(t, h, reloadSafe...), func(Stats) bool { left--; return left < 0 })
		t.Logf("with idle-close-on-response: %s", stats)
		if stats.Failures > 0 {
			t.Errorf("with idle-close-on-response: %s", stats)
		}
	})
}
