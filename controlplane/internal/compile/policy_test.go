package compile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berth-proxy/berth/api/haproxytest"
	"github.com/berth-proxy/berth/controlplane/internal/desired"
	"github.com/berth-proxy/berth/controlplane/internal/explain"
	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// policyYAML writes a BackendPolicy; target is "SERVICE" or "SERVICE:PORT".
func policyYAML(name, target, spec string) string {
	service, section, has := strings.Cut(target, ":")
	if has {
		section = ", sectionName: " + section
	}
	return fmt.Sprintf("---\n{apiVersion: berth.dev/v1alpha1, kind: BackendPolicy, metadata: {name: %s, namespace: shop}, spec: {targetRefs: [{group: \"\", kind: Service, name: %s%s}], %s}}\n",
		name, service, section, spec)
}

// A policy comes, is edited and goes, before its service and after it: the backends of whoever routes to the service follow, nobody else's do, and endpoints flow all the while.
func TestPolicyComesAndGoes(t *testing.T) {
	r := newRig(t)
	r.put("", policyYAML("early", "web", "balance: source"))
	expect(t, "problems", r.problems("default"), "warned BackendPolicy shop/early (home): is for the service shop/web, which does not exist; it has no effect there")
	r.put("", service("web", "10.0.0.1")+service("api", "10.0.1.1")+ingress("web", "annotations: {berth.dev/balance: uri, berth.dev/timeout-server: 7s}", "", "web.example.com / web", "web.example.com /api api"))
	expect(t, "problems", r.problems("default"), "")
	line := func(service string) string {
		t.Helper()
		for _, b := range r.c.Backends("default") {
			if b.ServiceName == service {
				return fmt.Sprint(r.kept["default"].revision.Backend(b.Name).Lines)
			}
		}
		t.Fatalf("%s has no backend", service)
		return ""
	}
	if got := line("web"); !strings.HasPrefix(got, "[[balance source]") || !strings.Contains(got, "[timeout server 7s]") {
		t.Errorf("the policy's balance and the annotation's time give %s", got)
	}
	if got := line("api"); !strings.HasPrefix(got, "[[balance uri]") {
		t.Errorf("a service that no policy names has %s", got)
	}

	list := r.put("", policyYAML("early", "web", "balance: random"))
	if len(list) != 1 || structural(list[0]) != 2 {
		t.Errorf("an edited policy changes %v", list)
	}
	list = r.put("", policyYAML("late", "web:http", "maxConnectionsPerPod: 5"))
	if got := line("web"); !strings.HasPrefix(got, "[[balance random]") || len(list) != 1 {
		t.Errorf("with a second policy for the port: %s", got)
	}
	x, err := r.c.Explain("default", "http://web.example.com/", r.kept["default"].generation)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "the objects", strings.Join(x.Objects, ", "), "Ingress shop/web, Service shop/web, BackendPolicy shop/late, BackendPolicy shop/early")
	r.put("", slice("web", "web", "10.0.0.2"))
	if got := r.spell("default"); !strings.Contains(got, " 10.0.0.2:8080") || strings.Contains(got, "10.0.0.1:") {
		t.Errorf("after an endpoint changed:\n%s", got)
	}
	if list := r.put("", policyYAML("other", "nobody", "balance: uri")); len(list) > 0 {
		t.Errorf("a policy for a service that nobody routes to changes %v", list)
	}
	r.gone("", "BackendPolicy shop/early", "BackendPolicy shop/late", "BackendPolicy shop/other")
	if got := line("web"); !strings.HasPrefix(got, "[[balance uri]") || len(r.c.policies.of) > 0 || len(r.c.policies.notes) > 0 {
		t.Errorf("without policies: %s, %v", got, r.c.policies)
	}
}

func TestPolicyProblems(t *testing.T) {
	r := newRig(t, "home", "west")
	r.put("", service("web", "10.0.0.1")+ingress("web", "", "", "web.example.com / web")+policyYAML("a", "web", "balance: uri")+policyYAML("b", "web", "balance: source")+
		policyYAML("c", "web:admin", "balance: source")+"---\n{apiVersion: berth.dev/v1alpha1, kind: Fleet, metadata: {name: shop}, spec: {namespaces: {include: [shop]}}}\n"+
		"---\n{apiVersion: berth.dev/v1alpha1, kind: Fleet, metadata: {name: pay}, spec: {namespaces: {include: [pay]}}}\n")
	r.put("west", policyYAML("a", "web", "balance: random"))
	expect(t, "problems", r.problems("shop"), `warned BackendPolicy shop/a (west): is for the service shop/web, which does not exist; it has no effect there
warned BackendPolicy shop/b (home): has no effect for the service shop/web: BackendPolicy shop/a, which is older, is for it too; take it out of one of them
warned BackendPolicy shop/c (home): is for the port "admin" of service shop/web, which has no such TCP port; it has no effect there`)
	expect(t, "problems of a fleet that serves other namespaces", r.problems("pay"), "")
	if got := r.c.Reach([]source.Key{{Cluster: "home", Kind: source.KindBackendPolicy, Namespace: "shop", Name: "a"}}); len(got) != 1 || got[0].Fleet != "shop" || len(got[0].Touched) != 1 {
		t.Errorf("a policy reaches %v", got)
	}
}

// What a policy says is what HAProxy does, over what an annotation says.
func TestPolicyOnHAProxy(t *testing.T) {
	haproxytest.Each(t, func(t *testing.T, haproxy string) {
		p := newPods(t)
		p.start(t, "web", desired.H2C)
		p.start(t, "tls", desired.H2)
		r := newRig(t)
		r.put("", p.yaml()+ingress("all", "annotations: {berth.dev/backend-protocol: http, berth.dev/affinity: cookie}", "", "web.example.com / web", "tls.example.com / tls")+
			policyYAML("web", "web", "balance: leastconn, timeouts: {connect: 500ms, server: 60s, queue: 5s}, affinity: {}, check: {http: {path: /ready}, interval: 1s}, protocol: h2c, slots: {minimum: 8}, maxConnectionsPerPod: 200")+
			policyYAML("tls", "tls:http", "protocol: h2, affinity: {cookie: {name: berth}, stickyDrain: break}, check: {tcp: {}}"))
		expect(t, "problems", r.problems("default"), "")
		h := serve(t, haproxy, r.kept["default"])
		if got, _ := h.ask(explain.Request{Host: "web.example.com", Target: "/"}); got != "web" {
			t.Errorf("web: %s", got)
		}
		if got, given := h.visit("http://tls.example.com/"); got != "tls" || len(given) != 1 || given[0].Name != "berth" {
			t.Errorf("tls: %s with the cookies %v", got, given)
		}
		if _, given := h.visit("http://web.example.com/"); len(given) > 0 {
			t.Errorf("web gives the cookies %v, which the policy switches off", given)
		}
		h.checked("shop_web_http", "L7OK")
		h.checked("shop_tls_http", "L6OK")
		for name, b := range r.kept["default"].endpoints {
			if want := map[bool]int{true: 8, false: 4}[strings.HasPrefix(name, "shop_web_")]; b.Policy.Minimum != want {
				t.Errorf("%s has at least %d slots, want %d", name, b.Policy.Minimum, want)
			}
		}
	})
}
