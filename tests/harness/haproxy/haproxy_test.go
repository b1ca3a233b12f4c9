package haproxy_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func startPlain(t *testing.T, h harness.HAProxy, news haproxy.News) *haproxy.Plain {
	t.Helper()
	p, err := haproxy.StartPlain(haproxy.PlainOptions{
		Binary: h.Path, Dir: t.TempDir(), Address: fmt.Sprintf("127.0.0.1:%d", harness.Port(t)), News: news, Slots: 4,
		Services: map[string]string{"shop/web": "web.example.com"},
	})
	check(t, err)
	return p
}

// What the questions return is what was set, with both HAProxies.
func TestQuestions(t *testing.T) {
	harness.ForEachHAProxy(t, func(t *testing.T, h harness.HAProxy) {
		p := startPlain(t, h, haproxy.ByRuntime)
		defer func() { check(t, p.Stop()) }()
		check(t, p.Set("shop/web", []netip.AddrPort{netip.MustParseAddrPort("127.0.0.9:9080"), netip.MustParseAddrPort("127.0.0.8:9080")}))
		_, err := haproxy.Ask(p.Worker(), "set server shop_web/s2 state drain")
		check(t, err)
		_, err = haproxy.Ask(p.Worker(), "set server shop_web/s2 weight 7")
		check(t, err)
		free := netip.MustParseAddrPort("192.0.2.1:1")
		want := []haproxy.Server{
			{Backend: "shop_web", Name: "s1", ID: 1, Address: netip.MustParseAddrPort("127.0.0.9:9080"), State: haproxy.Ready, Running: true, Weight: 1},
			{Backend: "shop_web", Name: "s2", ID: 2, Address: netip.MustParseAddrPort("127.0.0.8:9080"), State: haproxy.Drain, Running: true, Weight: 7},
			{Backend: "shop_web", Name: "s3", ID: 3, Address: free, State: haproxy.Maint, Weight: 1},
			{Backend: "shop_web", Name: "s4", ID: 4, Address: free, State: haproxy.Maint, Weight: 1},
		}
		// An address is visible some milliseconds after it was acknowledged.
		harness.WaitForNil(t, time.Second, "what was set to be read", func() error {
			got, err := haproxy.Servers(p.Worker(), "shop_web")
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); err == nil && diff != "" {
				return fmt.Errorf("%s", diff)
			}
			return err
		})
		for _, backend := range []string{"", "shop_web"} {
			servers, err1 := haproxy.Servers(p.Worker(), backend)
			want, err2 := haproxy.WorkerPID(p.Worker())
			pid, got, err3 := haproxy.Look(p.Worker(), backend)
			if err := errors.Join(err1, err2, err3); err != nil || pid != want || !slices.Equal(got, servers) {
				t.Errorf("a look at worker %d, which has %v: %d %v %v", want, servers, pid, got, err)
			}
		}
		if _, err := haproxy.Servers(p.Worker(), "nowhere"); err == nil {
			t.Error("servers of a backend that is not there")
		}
	})
}

// A request that a leaving worker has to finish keeps it among the old ones; ending finds it, too (HAP-2).
func TestHAP2ProcessesAndTheirEnd(t *testing.T) {
	harness.ForEachHAProxy(t, func(t *testing.T, h harness.HAProxy) {
		c := cluster.New(cluster.Options{Dir: t.TempDir()})
		defer func() { check(t, c.Close()) }()
		d, err := c.Deploy(t.Context(), cluster.Spec{Namespace: "shop", Name: "web"}, 1)
		check(t, err)
		p := startPlain(t, h, haproxy.ByReload)
		check(t, p.Set("shop/web", d.Ready()))
		first, err := haproxy.WorkerPID(p.Worker())
		check(t, err)
		var slow sync.WaitGroup
		slow.Go(func() {
			resp, err := get(t.Context(), p.Address(), "/slow?d=20s")
			if err == nil {
				_ = resp.Body.Close()
			}
		})
		harness.WaitFor(t, 5*time.Second, "the request at the pod", func() bool {
			n, _ := d.Pods()[0].Requests()
			return n > 0
		})
		check(t, p.Reload())
		harness.WaitForNil(t, 5*time.Second, "the first worker among the old ones", func() error {
			processes, err := haproxy.Processes(p.Master())
			if err != nil {
				return err
			}
			for _, process := range processes {
				if process.PID == first && process.Leaving && process.Kind == "worker" {
					return nil
				}
			}
			return fmt.Errorf("%v", processes)
		})
		leaving, err := haproxy.Identify(first)
		check(t, err)
		check(t, p.Stop())
		slow.Wait()
		if leaving.Alive() {
			t.Error("the leaving worker lives on")
		}
		if found, err := haproxy.FindByPath(p.Worker()); err != nil || len(found) > 0 {
			t.Errorf("left: %v, %v", found, err)
		}
	})
}

// HAP-2: a process that does not heed SIGTERM is killed, and End says so.
func TestHAP2EndSaysWhatItHadToKill(t *testing.T) {
	c := exec.Command("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done")
	out, err := c.StdoutPipe()
	check(t, err)
	check(t, c.Start())
	_, err = out.Read(make([]byte, 8))
	check(t, err)
	id, err := haproxy.Identify(c.Process.Pid)
	check(t, err)
	if !id.Alive() || (haproxy.Identity{PID: id.PID, Started: "1"}).Alive() {
		t.Error("who lives is told wrongly")
	}
	if err := haproxy.End([]haproxy.Identity{id}, 200*time.Millisecond); err == nil || !strings.Contains(err.Error(), "were killed") {
		t.Errorf("End: %v", err)
	}
	_ = c.Wait() // killed
	if status := c.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		t.Errorf("ended by %v", status)
	}
}

func get(ctx context.Context, address, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return nil, err
	}
	req.Host = "web.example.com"
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return client.Do(req)
}

// HAP-3, on samples that are made up.
func TestHAP3Violations(t *testing.T) {
	at := netip.MustParseAddrPort
	server := func(backend, name, address string, state haproxy.State) haproxy.Server {
		return haproxy.Server{Backend: backend, Name: name, Address: at(address), State: state}
	}
	everywhere := haproxy.Watch{Listeners: []netip.AddrPort{at("0.0.0.0:8080")}}
	one := haproxy.Watch{Listeners: []netip.AddrPort{at("10.0.0.1:8080")}}
	twice := haproxy.Watch{AllowTwice: true}
	cases := []struct {
		name    string
		watch   haproxy.Watch
		servers []haproxy.Server
		want    int
	}{
		{"a sound table", everywhere, []haproxy.Server{
			server("b", "s1", "10.0.0.1:80", haproxy.Ready), server("b", "s2", "10.0.0.2:80", haproxy.Drain),
			server("b", "s3", "192.0.2.1:1", haproxy.Maint), server("b", "s4", "192.0.2.1:1", haproxy.Maint),
			server("c", "s1", "10.0.0.1:80", haproxy.Ready), server("c", "s2", "127.0.0.1:80", haproxy.Ready),
		}, 0},
		{"an enabled placeholder", everywhere, []haproxy.Server{server("b", "s1", "192.0.2.1:1", haproxy.Ready)}, 1},
		{"a draining mixture", everywhere, []haproxy.Server{server("b", "s1", "192.0.2.1:8081", haproxy.Drain)}, 1},
		{"a loop", everywhere, []haproxy.Server{server("b", "s1", "127.0.0.1:8080", haproxy.Ready)}, 1},
		{"a loop in waiting", everywhere, []haproxy.Server{server("b", "s1", "127.0.0.1:8080", haproxy.Maint)}, 1},
		{"a pod with the same port", everywhere, []haproxy.Server{server("b", "s1", "10.0.0.1:8080", haproxy.Ready)}, 0},
		{"the address of one listener", one, []haproxy.Server{server("b", "s1", "10.0.0.1:8080", haproxy.Ready)}, 1},
		{"beside one listener", one, []haproxy.Server{server("b", "s1", "127.0.0.1:8080", haproxy.Ready)}, 0},
		{"an endpoint twice", everywhere, []haproxy.Server{server("b", "s1", "10.0.0.1:80", haproxy.Ready), server("b", "s2", "10.0.0.1:80", haproxy.Drain)}, 1},
		{"an endpoint twice, allowed", twice, []haproxy.Server{server("b", "s1", "10.0.0.1:80", haproxy.Ready), server("b", "s2", "10.0.0.1:80", haproxy.Ready)}, 0},
	}
	for _, c := range cases {
		if got := haproxy.Violations(c.watch, c.servers); len(got) != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// HAP-3, on a real worker: a mixture of an old port and the placeholder that lasts some milliseconds is caught.
func TestHAP3SamplerCatchesAMoment(t *testing.T) {
	p := startPlain(t, harness.OldHAProxy(t), haproxy.ByRuntime)
	defer func() { check(t, p.Stop()) }()
	s := haproxy.NewSampler(5*time.Millisecond, haproxy.Watch{Name: "plain", Socket: p.Worker(), Listeners: []netip.AddrPort{netip.MustParseAddrPort(p.Address())}})
	ctx, cancel := context.WithCancel(t.Context())
	var sampler sync.WaitGroup
	sampler.Go(func() { s.Run(ctx) })
	defer sampler.Wait()
	defer cancel()
	harness.WaitFor(t, 5*time.Second, "samples", func() bool { return s.Samples()["plain"] > 5 })
	if v := s.Violations(); len(v) > 0 {
		t.Fatalf("before anything was wrong: %q", v)
	}
	_, err := haproxy.Ask(p.Worker(), "set server shop_web/s3 state ready")
	check(t, err)
	harness.WaitFor(t, 5*time.Second, "the enabled placeholder to be caught", func() bool { return len(s.Violations()) > 0 })
	if v := s.Violations()[0]; !strings.Contains(v, "plain: shop_web/s3 192.0.2.1:1 ready is an enabled placeholder") {
		t.Error(v)
	}
}
