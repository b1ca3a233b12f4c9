package compile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berth-proxy/berth/api/haproxytest"
	"github.com/berth-proxy/berth/controlplane/internal/explain"
)

// shared writes the Ingress of the tests of weights.
func shared(weights string) string {
	return ingress("shared", fmt.Sprintf("annotations: {berth.dev/weights: '%s'}", weights), "", "x.example.com / web", "x.example.com /api api", "y.example.com /a web", "- /any web")
}

// Other weights are other entries of a map: nothing else changes, and nothing at all where the parts are the same. What shares no longer is left by all.
func TestWeightsAreMapEntries(t *testing.T) {
	r := newRig(t)
	r.put("", service("web", "10.0.0.1")+service("canary", "10.0.1.1")+service("api", "10.0.2.1")+shared("web=100, canary=0"))
	expect(t, "alone", r.spell("default"), "shop_api_http 10.0.2.1:8080\nshop_web_http 10.0.0.1:8080")
	list := r.put("", shared("web=90, canary=10"))
	if len(list) != 1 || structural(list[0]) != 1 {
		t.Errorf("the first share changes %v", list)
	}
	expect(t, "shared", r.spell("default"), "shop_api_http 10.0.2.1:8080\nshop_canary_http 10.0.1.1:8080\nshop_web_http 10.0.0.1:8080")
	for _, step := range []struct {
		weights string
		changes int
	}{{"web=80, canary=20", 30}, {"web=800, canary=200", 0}} { // ten parts on each of three hosts
		list = r.put("", shared(step.weights))
		n := 0
		for _, fc := range list {
			n += len(fc.Revision.Changes)
			if structural(fc) > 0 {
				t.Errorf("%s changes more than entries: %v", step.weights, fc.Revision.Changes)
			}
		}
		if n != step.changes {
			t.Errorf("%s changes %d entries, want %d", step.weights, n, step.changes)
		}
	}
	x, err := r.c.Explain("default", "http://x.example.com/", r.kept["default"].generation)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "explained", fmt.Sprint(x.Backend, " ", x.Service, " ", strings.Join(x.Objects, ", ")), "shop_web_http shop/web:http Ingress shop/shared, Service shop/web, Service shop/canary")
	expect(t, "steps", strings.Join(x.Steps[2:4], "; "), "80 of 100 requests go to shop_web_http; 20 of 100 requests go to shop_canary_http")
	list = r.put("", shared("web=0, canary=1"))
	if len(list) != 1 || structural(list[0]) != 1 {
		t.Errorf("the last share changes %v", list)
	}
	expect(t, "all to the other", r.spell("default"), "shop_api_http 10.0.2.1:8080\nshop_canary_http 10.0.1.1:8080")
	for e := range r.kept["default"].revision.Entries(explain.Choice) {
		t.Errorf("%s %s is left over", e.Name, e.Value)
	}
}

// Requests are dealt as the weights say, on every path and host of the Ingress that leads to the first service; a share of a service that is not there answers 503.
func TestWeightsOnHAProxy(t *testing.T) {
	p := newPods(t, "web", "canary", "api")
	r := newRig(t)
	r.put("", p.yaml()+shared("web=70, canary=30")+ingress("half", "annotations: {berth.dev/weights: 'web=1, none=1'}", "", "half.example.com / web"))
	expect(t, "problems", r.problems("default"), `warned Ingress shop/half (home): a share of host "half.example.com" names the service shop/none, which does not exist; create it; it answers 503`)
	haproxytest.Each(t, func(t *testing.T, haproxy string) {
		h := serve(t, haproxy, r.kept["default"])
		const asked = 400
		for url, want := range map[string]map[string]int{
			"x.example.com /": {"web": 70, "canary": 30}, "y.example.com /a/b": {"web": 70, "canary": 30}, "z.example.com /any": {"web": 70, "canary": 30},
			"x.example.com /api": {"api": 100}, "half.example.com /": {"web": 50, "503": 50},
		} {
			host, path, _ := strings.Cut(url, " ")
			got := map[string]int{}
			for range asked {
				answer, _ := h.ask(explain.Request{Host: host, Target: path})
				got[answer]++
			}
			for who, percent := range want {
				// Six standard deviations of 400 draws are at most 60.
				if n := got[who]; n < asked*percent/100-60 || n > asked*percent/100+60 {
					t.Errorf("%s: %v of %d, want %v %%", url, got, asked, want)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s: %v", url, got)
			}
		}
	})
}
