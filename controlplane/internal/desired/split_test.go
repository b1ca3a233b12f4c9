package desired

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWeightsAnnotation(t *testing.T) {
	for value, want := range map[string][]Weight{
		"web=90, web-canary=10":           {{"web", 90}, {"web-canary", 10}},
		"web=1,api=0":                     {{"web", 1}, {"api", 0}},
		"a=1000000,b=1,  c=2 ":            {{"a", 1000000}, {"b", 1}, {"c", 2}},
		"web=0, web-canary=1":             {{"web", 0}, {"web-canary", 1}},
		"a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1": {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}, {"f", 1}, {"g", 1}, {"h", 1}},
	} {
		if a := ParseAnnotations(map[string]string{"berth.dev/weights": value}, nil); !slices.Equal(a.Weights, want) || len(a.Notes) > 0 {
			t.Errorf("%q: %v, %s", value, a.Weights, reasons(a.Notes))
		}
	}
	for _, value := range []string{"", "web", "web=90", "web=90, web=10", "web=0, api=0", "web=-1, api=2", "web=1.5, api=2", "web=a, api=2", "web=1 api=2", "web=1,,api=2", "web=1, Web=2", "a/b=1, c=1",
		"web=1000001, api=1", "web=+1, api=1", "web=01, api=1", "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1", "web=1,\napi=2"} {
		a := ParseAnnotations(map[string]string{"berth.dev/weights": value}, nil)
		if a.Weights != nil {
			t.Errorf("%q is taken: %v", value, a.Weights)
		}
		holdsAll(t, value, reasons(a.Notes), "warned: annotation berth.dev/weights", "the default is used")
	}
}

// All parts are given, nobody who has a weight goes without, who has none gets none, and a share is off by one part at most where nobody had to be given one.
func TestParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Weight {
			return Weight{Weight: rapid.SampledFrom([]int{0, 1, 2, 3, 10, 50, 99, 1000, 1000000}).Draw(t, "weight")}
		}), 2, 8).Draw(t, "weights")
		total, raised := 0, false
		for _, w := range weights {
			total += w.Weight
		}
		if total == 0 {
			t.Skip()
		}
		sum, got := 0, parts(weights)
		for _, w := range weights {
			raised = raised || w.Weight > 0 && w.Weight*Parts < total
		}
		for i, n := range got {
			sum += n
			if (n > 0) != (weights[i].Weight > 0) {
				t.Fatalf("%v: %v", weights, got)
			}
			if exact := float64(weights[i].Weight) * Parts / float64(total); !raised && (float64(n) < exact-1 || float64(n) > exact+1) {
				t.Fatalf("%v: %v, exactly %.2f", weights, got, exact)
			}
		}
		if sum != Parts {
			t.Fatalf("%v: %v add up to %d", weights, got, sum)
		}
	})
	for _, tt := range []struct{ weights, want []int }{{[]int{90, 10}, []int{90, 10}}, {[]int{1, 1, 1}, []int{34, 33, 33}}, {[]int{1000000, 1}, []int{99, 1}}, {[]int{2, 1, 0}, []int{67, 33, 0}}, {[]int{0, 5}, []int{0, 100}}} {
		var weights []Weight
		for _, n := range tt.weights {
			weights = append(weights, Weight{Weight: n})
		}
		if got := parts(weights); !slices.Equal(got, tt.want) {
			t.Errorf("%v: %v, want %v", tt.weights, got, tt.want)
		}
	}
}

func TestClaimOfShares(t *testing.T) {
	const rules = "spec: {rules: [{host: a.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}," +
		" {path: /api, pathType: Prefix, backend: {service: {name: api, port: {number: 80}}}}]}}, {host: b.example, http: {paths: [{path: /, pathType: Exact, backend: {service: {name: web, port: {number: 80}}}}]}}]}"
	c := claim(t, "i", "metadata: {annotations: {berth.dev/weights: 'web=9, api=1, none=0'}}\n"+rules)
	root, api, other := c.Hosts["a.example"].Paths[0], c.Hosts["a.example"].Paths[1], c.Hosts["b.example"].Paths[0]
	if root.Split == nil || len(root.Split.Shares) != 2 || root.Split.Shares[0].Parts != 90 || root.Split.Shares[0].Backend.Name != "shop_web_http" || root.Split.Shares[1].Backend.Name != "shop_api_http" {
		t.Errorf("the root is %+v", root.Split)
	}
	if api.Split != nil || api.Backend.Name != "shop_api_http" || len(c.Notes) > 0 {
		t.Errorf("a path to another service is %+v, %v", api, c.Notes)
	}
	if other.Split == nil || other.Split.Name == root.Split.Name || !strings.HasPrefix(other.Split.Name, SplitPrefix) {
		t.Errorf("another host's is %+v", other.Split)
	}
	if !root.Equal(root) || root.Equal(other) || root.Equal(api) || root.Split.Equal(&Split{Name: root.Split.Name}) {
		t.Error("routes are not told apart")
	}
	c = claim(t, "i", "metadata: {annotations: {berth.dev/weights: 'web=0, api=1'}}\n"+rules)
	if root := c.Hosts["a.example"].Paths[0]; root.Split != nil || root.Backend.Name != "shop_api_http" {
		t.Errorf("all to one: %+v", root)
	}
	c = claim(t, "i", "metadata: {annotations: {berth.dev/weights: 'old=1, api=1'}}\n"+rules)
	holdsAll(t, "weights that no path is for", reasons(c.Notes), "weights has no effect: no path leads to service old")
	c = claim(t, "i", "metadata: {annotations: {berth.dev/weights: 'web=1, none=1'}}\n"+rules)
	holdsAll(t, "a share of a service that is not there", reasons(c.Notes), `a share of host "a.example" names the service shop/none, which does not exist`)
	if s := c.Hosts["a.example"].Paths[0].Split; s == nil || !s.Shares[1].Backend.Closed() {
		t.Errorf("a share of a service that is not there is %+v", s)
	}
}
