package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
)

// Clients with a cookie go to an old and a new HAProxy in turn while their service grows, by servers that are added to the running workers, shrinks again and is restarted. A client stays
// with its pod as long as that is ready, on every node and whatever way the pod came by its slot; while the pod terminates it stays or goes, as the policy says. No request
// fails and nothing is reloaded.
func TestStickyClientsWhileAServiceBreathes(t *testing.T) {
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 1)})
	services := map[string]*cluster.Deployment{
		"keep":  r.Service("keep", 3, "affinity", "cookie", "sticky-drain", "keep"),
		"break": r.Service("break", 3, "affinity", "cookie", "backend-protocol", "h2c"),
	}
	var guests []*guest
	for name, d := range services {
		r.WaitServed(name)
		for range 6 {
			guests = append(guests, &guest{name: name, pods: d, keeps: name == "keep"})
		}
	}
	r.WaitCurrent()
	workers := r.Workers()
	var wait sync.WaitGroup
	visits := beside(t, func(ctx context.Context) {
		for _, g := range guests {
			wait.Go(func() { g.run(ctx, r) })
		}
		wait.Wait()
	})

	grow(t, services, 12)
	for name, d := range services {
		waitReady(t, r, d, name)
		sameCookies(t, r, d, name)
	}
	for _, g := range guests {
		if moves, _, _ := g.report(); moves > 0 {
			t.Errorf("a client of %s left its pod %d times while the service only grew", g.name, moves)
		}
	}
	grow(t, services, 3)
	restart(t, cluster.Ending{ServeOn: 3 * time.Second, Pause: 300 * time.Millisecond}, services["keep"], services["break"])
	r.WaitCurrent()
	visits.stop()

	lingered, left := 0, 0
	for _, g := range guests {
		moves, late, errs := g.report()
		lingered, left = lingered+late, left+moves
		for _, err := range errs {
			t.Errorf("a client of %s: %v", g.name, err)
		}
	}
	if lingered == 0 || left < len(guests) {
		t.Errorf("%d answers of pods that had been terminating for a second, and %d moves of %d clients: too few to prove anything", lingered, left, len(guests))
	}
	r.CheckSameWorkers(workers)
}

// grow scales services at the same time, to more pods or fewer; those that go serve on for a while.
func grow(t *testing.T, services map[string]*cluster.Deployment, n int) {
	t.Helper()
	var all sync.WaitGroup
	for _, d := range services {
		all.Go(func() {
			if err := d.Scale(t.Context(), n, cluster.Ending{ServeOn: 3 * time.Second}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// sameCookies meets every pod on every node: it gives one cookie, which leads to it on all of them.
func sameCookies(t *testing.T, r *rig.Rig, d *cluster.Deployment, service string) {
	t.Helper()
	cookies := map[string]string{}
	for _, n := range r.Nodes {
		met := map[string]bool{}
		for range 50 * len(d.Pods()) {
			pod, cookie, err := visit(t.Context(), n, service, nil)
			if err != nil || cookie == nil {
				t.Fatalf("%s: %v, cookie %v", n.Label(), err, cookie)
			}
			if first := cookies[pod]; first != "" && first != cookie.Value {
				t.Errorf("%s: pod %s gives the cookie %s, and %s elsewhere or before", n.Label(), pod, cookie.Value, first)
			}
			cookies[pod] = cookie.Value
			if !met[pod] {
				for _, other := range r.Nodes {
					if got, _, err := visit(t.Context(), other, service, cookie); got != pod || err != nil {
						t.Errorf("%s sends the client of %s to %s (%v)", other.Label(), pod, got, err)
					}
				}
			}
			if met[pod] = true; len(met) == len(d.Pods()) {
				break
			}
		}
		if len(met) != len(d.Pods()) {
			t.Errorf("%s: only the pods %v of %d give cookies", n.Label(), met, len(d.Pods()))
		}
	}
}

// guest is a client with a cookie.
type guest struct {
	name  string
	pods  *cluster.Deployment
	keeps bool

	mu     sync.Mutex
	pod    string
	cookie *http.Cookie
	// moves counts how often it was sent to another pod; late the answers of a pod that had been terminating for a second.
	moves, late int
	since       time.Time // when its pod was first seen to terminate
	errs        []error
}

func (g *guest) report() (moves, late int, errs []error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.moves, g.late, g.errs
}

func (g *guest) run(ctx context.Context, r *rig.Rig) {
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		n := r.Nodes[i%len(r.Nodes)]
		g.ask(ctx, n)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
	}
}

// ask sends one request and judges where it went.
func (g *guest) ask(ctx context.Context, n *rig.Node) {
	pod, cookie, err := visit(ctx, n, g.name, g.cookie)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			g.errs = append(g.errs, fmt.Errorf("%s: %w", n.Label(), err))
		}
		return
	}
	there, terminating := g.state(g.pod)
	switch {
	case g.pod != "" && pod != g.pod:
		g.moves++
		if there && (g.keeps || !terminating) {
			g.errs = append(g.errs, fmt.Errorf("%s sent it from %s, which is there (terminating: %v), to %s", n.Label(), g.pod, terminating, pod))
		}
		g.since = time.Time{}
	case there && terminating && g.since.IsZero():
		g.since = time.Now()
	case there && terminating && time.Since(g.since) > time.Second:
		g.late++
		if !g.keeps {
			g.errs = append(g.errs, fmt.Errorf("%s kept it at %s, which has been terminating for %v", n.Label(), pod, time.Since(g.since)))
		}
	}
	g.pod = pod
	if cookie != nil {
		g.cookie = cookie
	}
}

// state says whether the slices name a pod, and as terminating.
func (g *guest) state(pod string) (there, terminating bool) {
	endpoints, _ := g.pods.Endpoints()
	for _, e := range endpoints {
		if e.Pod == pod {
			return true, e.Terminating
		}
	}
	return false, false
}

// visit sends one request over a connection of its own, with a cookie if there is one, and returns the pod that answered and the cookie that was given.
func visit(ctx context.Context, n *rig.Node, service string, cookie *http.Cookie) (pod string, given *http.Cookie, err error) {
	transport := &http.Transport{DisableKeepAlives: true}
	client := &http.Client{Timeout: 10 * time.Second, Transport: transport}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.HTTP()+"/", nil)
	if err != nil {
		return "", nil, err
	}
	req.Host = rig.Host(service)
	if cookie != nil {
		req.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return "", nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return "", nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	for _, c := range resp.Cookies() {
		given = c
	}
	return resp.Header.Get("X-Pod"), given, nil
}
