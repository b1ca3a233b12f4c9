package cluster

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"sigs.k8s.io/yaml"

	"github.com/berth-proxy/berth/tests/cluster/manifest"
	"github.com/berth-proxy/berth/tests/pod"
)

func TestMain(m *testing.M) {
	pod.Main()
	goleak.VerifyTestMain(m)
}

func newCluster(t *testing.T, o Options) *Cluster {
	t.Helper()
	o.Dir = t.TempDir()
	c := New(o)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func deploy(t *testing.T, c *Cluster, replicas int) *Deployment {
	t.Helper()
	d, err := c.Deploy(t.Context(), Spec{Namespace: "shop", Name: "web"}, replicas)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// onDisk reads every endpoint that the files name, by pod.
func onDisk(t *testing.T, c *Cluster) (map[string]Endpoint, int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(string(c.Dir), "endpointslice_*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Endpoint{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s manifest.EndpointSlice
		if err := yaml.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		if len(s.Endpoints) > perSlice {
			t.Errorf("%s has %d endpoints", file, len(s.Endpoints))
		}
		for _, e := range s.Endpoints {
			found[e.TargetRef.Name] = Endpoint{Pod: e.TargetRef.Name, Ready: *e.Conditions.Ready, Serving: *e.Conditions.Serving, Terminating: *e.Conditions.Terminating}
		}
	}
	return found, len(files)
}

func listens(e Endpoint) bool {
	conn, err := net.Dial("tcp", e.Address.String())
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// history follows a deployment until ctx ends: what was seen of each pod, in order, without repetition.
func history(ctx context.Context, d *Deployment, onState func([]Endpoint)) map[string]string {
	seen := map[string]string{}
	for {
		endpoints, changed := d.Endpoints()
		onState(endpoints)
		now := map[string]string{}
		for _, e := range endpoints {
			now[e.Pod] = "ready"
			if e.Terminating {
				now[e.Pod] = "terminating"
			}
		}
		for pod := range seen {
			if now[pod] == "" {
				now[pod] = "gone"
			}
		}
		for pod, state := range now {
			if !strings.HasSuffix(seen[pod], state) {
				seen[pod] += " " + state
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return seen
		}
	}
}

// CLU-1, CLU-2: every named pod answers, each old one goes through terminating, each new one ends up ready.
func TestCLU2RollingRestart(t *testing.T) {
	for _, processes := range []bool{false, true} {
		c := newCluster(t, Options{Processes: processes})
		d := deploy(t, c, 3)
		ctx, cancel := context.WithCancel(t.Context())
		var seen map[string]string
		var follower sync.WaitGroup
		follower.Go(func() {
			seen = history(ctx, d, func(endpoints []Endpoint) {
				ready := 0
				for _, e := range endpoints {
					if e.Ready {
						ready++
						if !listens(e) {
							t.Errorf("%s is ready and does not listen", e.Pod)
						}
					}
				}
				if ready < 3 {
					t.Errorf("only %d ready", ready)
				}
			})
		})
		start := time.Now()
		if err := d.RollingRestart(ctx, Ending{ServeOn: 400 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 400*time.Millisecond || took > 10*time.Second {
			t.Errorf("took %v", took)
		}
		cancel()
		follower.Wait()
		// The follower may have been stopped before it saw the last pod gone.
		for _, old := range []string{"web-1", "web-2", "web-3"} {
			if !strings.HasPrefix(" ready terminating gone", seen[old]) || !strings.Contains(seen[old], "terminating") {
				t.Errorf("%s:%s", old, seen[old])
			}
		}
		disk, _ := onDisk(t, c)
		if len(disk) != 3 || !disk["web-4"].Ready || !disk["web-5"].Ready || !disk["web-6"].Ready {
			t.Errorf("on disk: %v", disk)
		}
	}
}

// CLU-2: a pod that exits at SIGTERM is gone before the slice says so.
func TestCLU2AtOnce(t *testing.T) {
	c := newCluster(t, Options{})
	d := deploy(t, c, 1)
	old := d.Pods()[0].Config()
	if err := d.RollingRestart(t.Context(), Ending{AtOnce: true}); err != nil {
		t.Fatal(err)
	}
	if listens(Endpoint{Address: old.Address}) {
		t.Error("the old pod still listens")
	}
	if disk, _ := onDisk(t, c); len(disk) != 1 || !disk["web-2"].Ready {
		t.Errorf("on disk: %v", disk)
	}
}

// CLU-3, CLU-4: several slices, down to none and back; the slice files stay.
func TestScale(t *testing.T) {
	c := newCluster(t, Options{})
	d := deploy(t, c, 0)
	for _, step := range []struct{ n, files int }{{0, 1}, {250, 3}, {1, 3}, {0, 3}, {2, 3}} {
		if err := d.Scale(t.Context(), step.n, Ending{}); err != nil {
			t.Fatal(err)
		}
		disk, files := onDisk(t, c)
		if len(disk) != step.n || files != step.files || len(d.Ready()) != step.n {
			t.Errorf("scaled to %d: %d endpoints in %d files, want %d files", step.n, len(disk), files, step.files)
		}
	}
	addresses := map[string]bool{}
	for _, p := range d.Pods() {
		addresses[p.Config().Address.String()] = true
	}
	if len(addresses) != 2 {
		t.Errorf("two pods at %v", addresses)
	}
}

func TestReuseAddresses(t *testing.T) {
	c := newCluster(t, Options{ReuseAddresses: true})
	d := deploy(t, c, 1)
	p := d.Pods()[0]
	if err := d.Bury(p); err != nil {
		t.Fatal(err)
	}
	stranger, err := c.StartPod("x", "shop/other")
	if err != nil {
		t.Fatal(err)
	}
	if stranger.Config().Address != p.Config().Address {
		t.Errorf("the address %s was not given again, but %s", p.Config().Address, stranger.Config().Address)
	}
}

func TestRoute(t *testing.T) {
	c := newCluster(t, Options{})
	r := Route{Namespace: "shop", Name: "web", Host: "shop.example.com", Service: "web", TLSSecret: "cert"}
	secret, err := Certificate("shop", "cert", "shop.example.com")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Put(secret); err != nil {
		t.Fatal(err)
	}
	if err := c.AddRoute(r); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(string(c.Dir), "ingress_shop_web.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ingressClassName: berth", "path: /\n", "pathType: Prefix", "number: 80", "secretName: cert"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if err := c.RemoveRoute(r); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(string(c.Dir), "ingress_shop_web.yaml")); !os.IsNotExist(err) {
		t.Errorf("the route's file: %v", err)
	}
}
