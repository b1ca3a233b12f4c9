package compile

import (
	"fmt"
	"testing"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// Whose loss touches which backends, and in which fleets.
func TestReach(t *testing.T) {
	r := newRig(t, "home", "east")
	classless := "---\n{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: none, namespace: shop}, spec: {rules: [{host: n.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: nn, port: {number: 80}}}}]}}]}}\n"
	class := "---\n{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: berth, annotations: {ingressclass.kubernetes.io/is-default-class: \"true\"}}, spec: {controller: berth.dev/ingress}}\n"
	fleets := "---\n{apiVersion: berth.dev/v1alpha1, kind: Fleet, metadata: {name: a}}\n---\n{apiVersion: berth.dev/v1alpha1, kind: Fleet, metadata: {name: b}, spec: {ingressClasses: [other]}}\n"
	r.put("", fleets+class+classless+service("nn", "10.0.0.1")+
		service("web", "10.0.0.2")+service("api", "10.0.0.3")+service("unused", "10.0.0.4")+policyYAML("round", "api", "balance: roundrobin")+
		ingress("both", "", "tls: [{hosts: [y.example.com], secretName: cert}],", "x.example.com / web", "x.example.com /api api"))
	r.put("east", service("web", "10.0.0.5")+ingress("both", "", "", "e.example.com / web"))
	key := func(kind source.Kind, cluster, name string) source.Key {
		k := source.Key{Cluster: cluster, Kind: kind, Name: name}
		if kind.Namespaced() {
			k.Namespace = "shop"
		}
		return k
	}
	for name, c := range map[string]struct {
		keys []source.Key
		want string
	}{
		"a service":                    {[]source.Key{key(source.KindService, "home", "web")}, "[{a 4 [shop_web_http]}]"},
		"another cluster's":            {[]source.Key{key(source.KindService, "east", "web")}, "[{a 4 [east.shop_web_http]}]"},
		"a service that nobody routes": {[]source.Key{key(source.KindService, "home", "unused")}, "[]"},
		"an Ingress":                   {[]source.Key{key(source.KindIngress, "home", "both")}, "[{a 4 [shop_api_http shop_web_http]}]"},
		"a Secret":                     {[]source.Key{key(source.KindSecret, "home", "cert")}, "[{a 4 [shop_api_http shop_web_http]}]"},
		"a class that is the default":  {[]source.Key{key(source.KindIngressClass, "home", "berth")}, "[{a 4 [shop_nn_http]}]"},
		"a class that names nobody":    {[]source.Key{key(source.KindIngressClass, "east", "berth")}, "[]"},
		"a BackendPolicy":              {[]source.Key{key(source.KindBackendPolicy, "home", "round")}, "[{a 4 [shop_api_http]}]"},
		"a Fleet":                      {[]source.Key{key(source.KindFleet, "home", "a")}, "[{a 4 [east.shop_web_http shop_api_http shop_nn_http shop_web_http]}]"},
		"several":                      {[]source.Key{key(source.KindService, "home", "web"), key(source.KindIngress, "home", "both")}, "[{a 4 [shop_api_http shop_web_http]}]"},
		"what is not there":            {[]source.Key{key(source.KindService, "home", "lost"), key(source.KindIngress, "home", "lost")}, "[]"},
	} {
		if got := fmt.Sprint(r.c.Reach(c.keys)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	// A Fleet that another source has, too, goes on.
	r.put("east", "---\n{apiVersion: berth.dev/v1alpha1, kind: Fleet, metadata: {name: a}}\n")
	if got := r.c.Reach([]source.Key{key(source.KindFleet, "home", "a")}); len(got) > 0 {
		t.Errorf("a Fleet of two sources: %v", got)
	}
}
