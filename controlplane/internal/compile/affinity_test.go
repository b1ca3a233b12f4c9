package compile

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/berth-proxy/berth/api/haproxytest"
	"github.com/berth-proxy/berth/api/snapshot"
)

// visit asks as a browser that has these cookies, and returns what it got and the cookies that it was given.
func (h *running) visit(url string, cookies ...*http.Cookie) (pod string, given []*http.Cookie) {
	h.t.Helper()
	dial := func(address string) func(context.Context, string, string) (net.Conn, error) {
		return func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", address)
		}
	}
	secure := func(ctx context.Context, _, address string) (net.Conn, error) {
		raw, err := dial(h.secure)(ctx, "", "")
		if err != nil {
			return nil, err
		}
		host, _, _ := strings.Cut(address, ":")
		return tls.Client(raw, &tls.Config{InsecureSkipVerify: true, ServerName: host}), nil
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial(h.plain), DialTLSContext: secure}}
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, c := range cookies {
		req.AddCookie(c)
	}
	resp, err := client.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(body), resp.Cookies()
}

// cookieOf asks anew until the pod answers, and returns the cookie that it gave.
func (h *running) cookieOf(url, pod string) *http.Cookie {
	h.t.Helper()
	for range 20 {
		if got, given := h.visit(url); got == pod && len(given) == 1 {
			return given[0]
		}
	}
	h.t.Fatalf("%s is never answered by %s with a cookie", url, pod)
	return nil
}

// loyal checks that a client with the cookie stays with the pod and is given no other.
func (h *running) loyal(url, pod string, c *http.Cookie) {
	h.t.Helper()
	for range 6 {
		if got, given := h.visit(url, c); got != pod || len(given) > 0 {
			h.t.Fatalf("%s: the client of %s is answered by %s and given %v", url, pod, got, given)
		}
	}
}

// replicas makes all pods the endpoints of one service; those that drain are terminating and still serve.
func (p *pods) replicas(service string, drain ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: shop}, spec: {ports: [{name: http, port: 80}]}}\n", service)
	for _, pod := range slices.Sorted(maps.Keys(p.addrs)) {
		host, port, _ := net.SplitHostPort(p.addrs[pod])
		conditions := "ready: true"
		if slices.Contains(drain, pod) {
			conditions = "ready: false, serving: true, terminating: true"
		}
		fmt.Fprintf(&b, "---\n{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, ports: [{name: http, port: %s}],\n metadata: {name: %s-%s, namespace: shop,"+
			" labels: {kubernetes.io/service-name: %s}}, endpoints: [{addresses: [%q], conditions: {%s}, targetRef: {kind: Pod, name: %s}}]}\n", port, service, pod, service, host, conditions, pod)
	}
	return b.String()
}

// moved is the generation with all tables the other way round: every pod has another slot.
func moved(gen *snapshot.Generation) *snapshot.Generation {
	d := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{}}
	for t := range gen.All() {
		slots := map[int]snapshot.Slot{}
		for i, s := range t.Slots {
			slots[len(t.Slots)-1-i] = s
		}
		d.Tables[t.Backend] = snapshot.TableDelta{Reset: true, Length: len(t.Slots), Slots: slots}
	}
	return snapshot.EmptyGeneration().Apply(d, snapshot.Version{Number: 1})
}

// A client stays with its pod, whatever slot that has: on both versions, which are two nodes of a fleet here, and after a reload with other slots. Backends of one service that
// differ in other settings agree on the cookie, and services that share a host have one each.
func TestAffinityFollowsThePod(t *testing.T) {
	p := newPods(t, "a", "b", "c")
	r := newRig(t)
	r.put("", p.replicas("web")+p.replicas("api")+
		ingress("web", "annotations: {berth.dev/affinity: cookie}", "", "x.example.com / web", "x.example.com /api api")+
		ingress("slow", "annotations: {berth.dev/affinity: cookie, berth.dev/timeout-server: 90s}", "", "slow.example.com / web")+
		ingress("named", "annotations: {berth.dev/affinity: cookie, berth.dev/affinity-cookie-name: JSESSIONID}", "", "named.example.com / web")+
		ingress("plain", "", "", "plain.example.com / web"))
	expect(t, "problems", r.problems("default"), "")
	k := r.kept["default"]
	clients := map[string]*http.Cookie{}
	haproxytest.Each(t, func(t *testing.T, haproxy string) {
		for _, gen := range []*snapshot.Generation{k.generation, moved(k.generation)} {
			h := serve(t, haproxy, &kept{revision: k.revision, generation: gen})
			for _, url := range []string{"http://x.example.com/", "http://x.example.com/api", "http://named.example.com/"} {
				for pod := range p.addrs {
					c := h.cookieOf(url, pod)
					if first := clients[url+pod]; first != nil && first.String() != c.String() {
						t.Errorf("%s: pod %s gives the cookie %s, another node or slot gives %s", url, pod, c, first)
					}
					clients[url+pod] = c
					h.loyal(url, pod, c)
				}
			}
			h.loyal("http://slow.example.com/", "b", clients["http://x.example.com/b"])
			if _, given := h.visit("http://plain.example.com/", clients["http://x.example.com/b"]); len(given) > 0 {
				t.Errorf("without affinity a client is given %v", given)
			}
		}
	})
	web, api, named := clients["http://x.example.com/a"], clients["http://x.example.com/apia"], clients["http://named.example.com/a"]
	if web.Name == api.Name || named.Name != "JSESSIONID" || !strings.HasPrefix(web.Name, "berth_") {
		t.Errorf("the cookies are named %s, %s and %s", web.Name, api.Name, named.Name)
	}
	if web.Value == api.Value {
		t.Errorf("an address has the cookie %s in two services", web.Value)
	}
	if !web.HttpOnly || web.Path != "/" || web.MaxAge != 0 || !web.Expires.IsZero() || web.Secure {
		t.Errorf("the cookie is %s", web)
	}
}

// Over TLS a client is given a cookie that it sends over TLS only; what a pod sets itself is left as it is.
func TestAffinityOverTLS(t *testing.T) {
	haproxytest.Each(t, func(t *testing.T, haproxy string) {
		p := newPods(t, "a")
		p.sets = "sid=of-the-pod"
		r := newRig(t)
		r.put("", p.replicas("web")+ingress("web", "annotations: {berth.dev/affinity: cookie, berth.dev/affinity-cookie-name: a.b}", "", "x.example.com / web"))
		h := serve(t, haproxy, r.kept["default"])
		for url, secure := range map[string]bool{"http://x.example.com/": false, "https://x.example.com/": true} {
			_, given := h.visit(url)
			if len(given) != 2 {
				t.Fatalf("%s gives %v", url, given)
			}
			for _, c := range given {
				if want := secure && c.Name == "a.b"; c.Secure != want || c.Name == "a.b" && !c.HttpOnly {
					t.Errorf("%s gives the cookie %s", url, c)
				}
				if c.Name == "a.b" {
					if got, again := h.visit(url, c); got != "a" || len(again) != 1 {
						t.Errorf("%s: the client is answered by %s and given %v", url, got, again)
					}
				}
			}
		}
	})
}

// A pod that drains keeps its sticky clients if that is asked for, and gets no others; else it has no slot, and they go elsewhere with their next request. When none is
// ready any longer, those that drain take the traffic in either case.
func TestStickyDrain(t *testing.T) {
	p := newPods(t, "a", "b")
	r := newRig(t)
	r.put("", p.replicas("web")+
		ingress("keep", "annotations: {berth.dev/affinity: cookie, berth.dev/sticky-drain: keep}", "", "keep.example.com / web")+
		ingress("break", "annotations: {berth.dev/affinity: cookie}", "", "break.example.com / web"))
	k := r.kept["default"]
	before := k.generation
	r.put("", p.replicas("web", "b"))
	haproxytest.Each(t, func(t *testing.T, haproxy string) {
		clients := map[string]*http.Cookie{}
		h := serve(t, haproxy, &kept{revision: k.revision, generation: before})
		for _, url := range []string{"http://keep.example.com/", "http://break.example.com/"} {
			clients[url] = h.cookieOf(url, "b")
		}
		h = serve(t, haproxy, k)
		for url, c := range clients {
			for range 4 {
				if got, _ := h.visit(url); got != "a" {
					t.Errorf("%s: a new client is sent to %s, which drains", url, got)
				}
			}
			if strings.Contains(url, "keep") {
				h.loyal(url, "b", c)
				continue
			}
			got, given := h.visit(url, c)
			if got != "a" || len(given) != 1 {
				t.Errorf("%s: the client of a pod that drains is answered by %s and given %v", url, got, given)
				continue
			}
			h.loyal(url, "a", given[0])
		}
	})
	r.put("", p.replicas("web", "a", "b"))
	for _, b := range r.kept["default"].endpoints {
		if len(b.Endpoints) != 2 || b.Endpoints[0].State != snapshot.Ready || b.Endpoints[1].State != snapshot.Ready {
			t.Errorf("when all drain, the endpoints are %v", b.Endpoints)
		}
	}
}
