package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/claim"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
	"github.com/berth-proxy/berth/tests/pod"
)

// stateFileConfig is the set-up of the trouble: slots with a placeholder, filled by the runtime socket, carried over a reload by HAProxy's server state file.
const stateFileConfig = `global
  stats socket %[1]s/worker.sock mode 600 level admin
  server-state-file %[1]s/state
  nbthread 1
  maxconn 400
defaults
  mode http
  timeout connect 300ms
  timeout client 10s
  timeout server 10s
  retries 1
  option forwardfor
  load-server-state-from-file global
frontend http
  bind %[2]s
  default_backend web
backend web
  server s1 %[3]s disabled
`

// A stateful is an HAProxy with a server state file.
type stateful struct {
	t       *testing.T
	dir     string
	address netip.AddrPort
}

func startStateful(t *testing.T, h harness.HAProxy, address netip.AddrPort, placeholder string) *stateful {
	t.Helper()
	s := &stateful{t, t.TempDir(), address}
	config := filepath.Join(s.dir, "haproxy.cfg")
	s.must(os.WriteFile(config, fmt.Appendf(nil, stateFileConfig, s.dir, address, placeholder), 0o600))
	s.must(os.WriteFile(filepath.Join(s.dir, "state"), []byte("1\n"), 0o600))
	log, err := os.Create(filepath.Join(s.dir, "log"))
	s.must(err)
	c := exec.Command(h.Path, "-W", "-S", filepath.Join(s.dir, "master.sock"), "-f", config)
	c.Stdout, c.Stderr = log, log
	s.must(c.Start())
	t.Cleanup(func() {
		all, err := haproxy.FindByPath(config)
		if err := errors.Join(err, haproxy.End(all, 5*time.Second)); err != nil {
			t.Error(err)
		}
		_ = c.Wait() // ended by a signal
		_ = log.Close()
	})
	harness.WaitForNil(t, 10*time.Second, "HAProxy to start", func() error {
		_, err := haproxy.WorkerPID(s.worker())
		return err
	})
	return s
}

func (s *stateful) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stateful) worker() string { return filepath.Join(s.dir, "worker.sock") }

// fill puts a pod into the slot, as a controller does.
func (s *stateful) fill(pod netip.AddrPort) {
	s.t.Helper()
	for _, command := range []string{fmt.Sprintf("set server web/s1 addr %s port %d", pod.Addr(), pod.Port()), "set server web/s1 state ready"} {
		_, err := haproxy.Ask(s.worker(), command)
		s.must(err)
	}
	harness.WaitForNil(s.t, 5*time.Second, "the slot to show the pod", func() error {
		if got := s.slot(); got.Address != pod || got.State != haproxy.Ready {
			return errors.New(got.String())
		}
		return nil
	})
}

// reload saves the state of the servers and reloads, as the recipe for this says.
func (s *stateful) reload() {
	s.t.Helper()
	state, err := haproxy.Ask(s.worker(), "show servers state")
	s.must(err)
	s.must(os.WriteFile(filepath.Join(s.dir, "state"), []byte(state+"\n"), 0o600))
	before, err := haproxy.WorkerPID(s.worker())
	s.must(err)
	var asked time.Time
	harness.WaitForNil(s.t, 20*time.Second, "a new worker", func() error {
		if pid, err := haproxy.WorkerPID(s.worker()); err == nil && pid != before {
			return nil
		}
		if time.Since(asked) < 3*time.Second {
			return fmt.Errorf("worker %d goes on", before)
		}
		asked = time.Now()
		// While a master of an old version executes itself it refuses connections, or drops them with what was said: it is asked again then.
		_, err := haproxy.Ask(filepath.Join(s.dir, "master.sock"), "reload")
		return errors.Join(err, errors.New("the order has just been given"))
	})
}

func (s *stateful) slot() haproxy.Server {
	s.t.Helper()
	servers, err := haproxy.Servers(s.worker(), "web")
	s.must(err)
	return servers[0]
}

func (s *stateful) get() int {
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + s.address.String() + "/")
	if err != nil {
		s.t.Logf("a request: %v", err)
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// podOnThePortOf starts a pod on an address of its own with the same port as a listener: pods and proxies like the same ports.
func podOnThePortOf(t *testing.T, listener netip.AddrPort) netip.AddrPort {
	t.Helper()
	block, err := claim.Mine()
	if err != nil {
		t.Fatal(err)
	}
	address, err := block.Address()
	if err != nil {
		t.Fatal(err)
	}
	p, err := pod.Start(pod.Config{Name: "web-1", Service: "shop/web", Address: netip.AddrPortFrom(address, listener.Port())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return p.Config().Address
}

// 3. The trouble that started it all. A slot is a server line with a placeholder; a pod is written into it at run time; the state of the servers is saved in
// HAProxy's state file and a reload follows. HAProxy takes the address from the configuration and port and state from the file: the slot is the
// placeholder's address with the pod's port, enabled. With a placeholder that leads nowhere it is a black hole; with 127.0.0.1 and a pod on the port that HAProxy itself
// listens on it is HAProxy: a request goes round until it has grown too large, and ends in 400.
func TestStateFileMixesOldAndNew(t *testing.T) {
	harness.ForEachHAProxy(t, func(t *testing.T, h harness.HAProxy) {
		for _, placeholder := range []struct {
			address string
			status  int
			what    string
		}{{"192.0.2.1", http.StatusServiceUnavailable, "a black hole"}, {"127.0.0.1", http.StatusBadRequest, "a loop"}} {
			listener := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(harness.Port(t)))
			pod := podOnThePortOf(t, listener)
			s := startStateful(t, h, listener, placeholder.address+":1")
			s.fill(pod)
			if got := s.get(); got != http.StatusOK {
				t.Fatalf("before the reload a request gets %d", got)
			}
			s.reload()
			mixed := netip.AddrPortFrom(netip.MustParseAddr(placeholder.address), pod.Port())
			if got := s.slot(); got.Address != mixed || got.State != haproxy.Ready {
				t.Errorf("after the reload the slot is %s, want %s ready: the placeholder's address with the pod's port", got, mixed)
			}
			if got := s.get(); got != placeholder.status {
				t.Errorf("with the placeholder %s a request gets %d, want %d", placeholder.address, got, placeholder.status)
			}
			t.Logf("HAProxy %s, placeholder %s: the pod was %s, after the reload the slot is %s, %s", h.Version, placeholder.address, pod, s.slot(), placeholder.what)
		}
	})
}

// 3. Berth's configuration has none of it: pods on the very port that HAProxy listens on, a slot that is filled at run time, a reload. The slot is what it was, a free one
// is the placeholder as it was written, and nothing on the node's disk speaks of server states: P1, P2, P3.
func TestNoStateFile(t *testing.T) {
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 1)})
	r.Service("other", 1)
	deployments := map[string]*cluster.Deployment{}
	for i, n := range r.Nodes {
		// The same directory, and pods on this node's own port.
		pods := cluster.New(cluster.Options{Dir: string(r.Dir), Port: uint16(n.HTTPPort)})
		t.Cleanup(func() { r.Must(pods.Close()) })
		name := fmt.Sprintf("web%d", i+1)
		d, err := pods.Deploy(t.Context(), cluster.Spec{Namespace: rig.Namespace, Name: name}, 1)
		r.Must(err)
		r.Must(r.AddRoute(rig.Route(name)))
		deployments[name] = d
	}
	check := func() {
		t.Helper()
		for name := range deployments {
			r.WaitServed(name)
		}
		r.WaitCurrent()
		for _, n := range r.Nodes {
			checkConfig(t, n)
		}
	}
	check()
	before := r.Workers()
	for _, d := range deployments {
		restart(t, cluster.Ending{AtOnce: true}, d)
	}
	check()
	r.CheckSameWorkers(before)
	r.Must(r.AddRoute(rig.Route("other", "balance", "leastconn")))
	harness.WaitFor(t, 20*time.Second, "a reload of every node", func() bool {
		for label, id := range r.Workers() {
			if id == before[label] {
				return false
			}
		}
		return true
	})
	check()
	// One change is one reload: none follows when the pacing would allow the next.
	after := r.Workers()
	during(t, 1500*time.Millisecond)
	r.CheckSameWorkers(after)
}

func checkConfig(t *testing.T, n *rig.Node) {
	t.Helper()
	config, err := n.Config()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"server-state", "load-server-state", "init-addr"} {
		if strings.Contains(config, word) {
			t.Errorf("the configuration of node %s has %q", n.Node, word)
		}
	}
	entries, err := os.ReadDir(n.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, _ := os.ReadFile(filepath.Join(n.StateDir, e.Name()))
		if strings.Contains(string(text), "srv_admin_state") {
			t.Errorf("node %s keeps a dump of server states in %s", n.Node, e.Name())
		}
	}
	snapshot, err := n.Look("")
	if err != nil {
		t.Fatal(err)
	}
	free := netip.AddrPortFrom(haproxy.Placeholder, 1)
	for _, s := range snapshot.Servers {
		if s.State == haproxy.Maint && s.Address != free {
			t.Errorf("node %s: the free slot is %s, want %s", n.Label(), s, free)
		}
	}
}
