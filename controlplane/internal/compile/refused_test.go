package compile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// An Ingress that its source refused closes the hosts of who would serve it, and nobody else's.
func TestRefusedIngressOfAClass(t *testing.T) {
	class := func(name string) source.Problem { return source.Problem{Class: name} }
	for name, c := range map[string]struct {
		fleet    string // of its spec
		problems []source.Problem
		want     string
	}{
		"ours":                        {"", []source.Problem{class("berth")}, "503"},
		"another's":                   {"", []source.Problem{class("nginx")}, "shop_web_http"},
		"one that cannot be read":     {"", []source.Problem{{AnyClass: true}}, "503"},
		"none":                        {"", []source.Problem{class("")}, "shop_web_http"},
		"none, and they are served":   {"ingressWithoutClass: true", []source.Problem{class("")}, "503"},
		"another's, also then":        {"ingressWithoutClass: true", []source.Problem{class("nginx")}, "shop_web_http"},
		"twice, of two":               {"", []source.Problem{class("nginx"), class("other")}, "503"},
		"twice, of the same":          {"", []source.Problem{class("nginx"), class("nginx")}, "shop_web_http"},
		"ours, in a namespace not of": {"namespaces: {include: [other]}", []source.Problem{class("berth")}, "404"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.put("", "---\n{apiVersion: berth.dev/v1alpha1, kind: Fleet, metadata: {name: default}, spec: {"+c.fleet+"}}\n"+
				service("web", "10.0.0.1")+ingress("i", "", "", "*.example.com / web"))
			for i := range c.problems {
				p := &c.problems[i]
				p.Object = source.Key{Cluster: "home", Kind: source.KindIngress, Namespace: "shop", Name: "bad"}
				p.Severity, p.Reason, p.Hosts = source.Rejected, "wrong", []string{"pay.example.com"}
			}
			r.apply(source.Batch{Source: "home", Reports: []source.Report{{Origin: "a.yaml", Problems: c.problems}}})
			expect(t, "its host", r.ask("default", "http://pay.example.com/"), c.want)
		})
	}
}

// A default backend that an older one leaves nothing to do is warned about; one with hosts of its own serves their unmatched paths.
func TestADefaultBackendThatNobodyUses(t *testing.T) {
	r := newRig(t)
	of := func(name, year, rules string) string {
		return fmt.Sprintf("---\n{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: %s, namespace: shop, creationTimestamp: %s-01-01T00:00:00Z},\n"+
			" spec: {ingressClassName: berth, defaultBackend: {service: {name: web, port: {number: 80}}}, rules: [%s]}}\n", name, year, rules)
	}
	r.put("", service("web", "10.0.0.1")+of("young", "2022", "")+of("younger", "2023", "{host: x.example.com}"))
	expect(t, "problems", r.problems("default"), "")
	r.put("", of("old", "2020", ""))
	if got := r.problems("default"); !strings.HasPrefix(got, "warned Ingress shop/young (home): its default backend is used by nobody: that of Ingress shop/old") || strings.Contains(got, "\n") {
		t.Errorf("problems: %s", got)
	}
	r.gone("", "Ingress shop/old")
	expect(t, "problems", r.problems("default"), "")
}
