package compile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/explain"
	"github.com/berth-proxy/berth/controlplane/internal/source"
)

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

func only(t *testing.T, list []FleetChange) FleetChange {
	t.Helper()
	if len(list) != 1 {
		t.Fatalf("%d fleets changed, want one: %+v", len(list), list)
	}
	return list[0]
}

// COMP-2, P4: an endpoint that comes or goes changes the endpoint set of the backends of its service, and no resource.
func TestEndpointChangeTouchesItsBackendsOnly(t *testing.T) {
	r := newRig(t)
	r.put("", service("web", "10.0.0.1")+service("api", "10.0.1.1")+ingress("i", "", "", "x.example.com / web", "x.example.com /api api")+
		ingress("j", `annotations: {berth.dev/balance: uri}`, "", "y.example.com / web"))
	expect(t, "backends", r.spell("default"), "shop_api_http 10.0.1.1:8080\nshop_web_http 10.0.0.1:8080\nshop_web_http_abce2b8e 10.0.0.1:8080")

	fc := only(t, r.put("", slice("web", "web", "10.0.0.1", "10.0.0.2")))
	if !fc.Revision.Empty() || len(fc.Endpoints) != 2 {
		t.Errorf("a pod came, and the change is %+v", fc)
	}
	if list := r.put("", slice("other", "other", "10.0.9.1")); len(list) != 0 {
		t.Errorf("a slice of a service that nobody routes to changed %+v", list)
	}
	// The slice goes over to another service.
	fc = only(t, r.put("", slice("web", "api", "10.0.0.1", "10.0.0.2")))
	if !fc.Revision.Empty() || len(fc.Endpoints) != 3 {
		t.Errorf("a slice went over to another service, and the change is %+v", fc)
	}
	expect(t, "backends", r.spell("default"), "shop_api_http 10.0.0.1:8080 10.0.0.2:8080 10.0.1.1:8080\nshop_web_http\nshop_web_http_abce2b8e")
}

// A route to a backend that is there comes and goes by entries of maps alone.
func TestRouteToAKnownBackendIsMapEntriesOnly(t *testing.T) {
	r := newRig(t)
	r.put("", service("web", "10.0.0.1")+ingress("i", "", "", "x.example.com / web"))
	for _, list := range [][]FleetChange{
		r.put("", ingress("j", "", "", "y.example.com /a web")),
		r.put("", ingress("j", "", "", "z.example.com /b web")),
		r.gone("", "Ingress shop/j"),
	} {
		if fc := only(t, list); structural(fc) > 0 || len(fc.Endpoints) > 0 || fc.Revision.Empty() {
			t.Errorf("a route came or went, and the change is %+v", fc)
		}
	}
}

// COMP-4: a retired backend is compiled on until it is released; one that comes back is told anew.
func TestRetiredBackendsAreCompiledUntilReleased(t *testing.T) {
	r := newRig(t)
	r.put("", service("web", "10.0.0.1")+service("api", "10.0.1.1")+ingress("i", "", "", "x.example.com / web", "x.example.com /api api"))
	fc := only(t, r.put("", ingress("i", "", "", "x.example.com / web")))
	if gone, changed := fc.Revision.Changes[snapshot.Key{Kind: snapshot.KindBackend, Name: "shop_api_http"}]; !changed || gone != nil {
		t.Fatalf("its last route went, and the change is %+v", fc)
	}
	follows := func(want int) {
		t.Helper()
		n := 0
		for _, fc := range r.put("", slice("api", "api", "10.0.1."+string(rune('2'+r.steps%7)))) {
			n += len(fc.Endpoints)
		}
		if n != want {
			t.Errorf("a pod of the retired backend moved, and %d backends changed, want %d", n, want)
		}
	}
	follows(1)
	r.c.Release("default", []string{"shop_web_http"}) // live: nothing happens
	follows(1)

	// Without its service it keeps the last endpoints: some worker may still send requests there.
	if list := r.gone("", "Service shop/api", "EndpointSlice shop/api"); len(list) != 0 {
		t.Errorf("the service of a retired backend went, and the change is %+v", list)
	}
	fc = only(t, r.put("", service("api", "10.0.1.9")+ingress("i", "", "", "x.example.com / web", "x.example.com /api api")))
	if b := fc.Endpoints["shop_api_http"]; len(b.Endpoints) != 1 || structural(fc) != 1 {
		t.Errorf("it came back, and the change is %+v", fc)
	}
	r.put("", ingress("i", "", "", "x.example.com / web"))
	r.c.Release("default", []string{"shop_api_http", "nobody"})
	follows(0)
	r.c.Release("no fleet", []string{"x"})
}

// P10: a Secret that is edited from good to bad leaves the last accepted certificate in force; one that goes closes its hosts; and a key that nobody
// names any longer is forgotten.
func TestLastAcceptedCertificateStays(t *testing.T) {
	r := newRig(t)
	tls := "tls: [{hosts: [x.example.com], secretName: cert}],"
	r.put("", service("web", "10.0.0.1")+ingress("i", "", tls, "x.example.com / web")+secretYAML("cert", 0))
	cert := func() *snapshot.Certificate {
		x, _ := r.kept["default"].revision.Get(snapshot.Key{Kind: snapshot.KindCertificate, Name: "shop/cert"}).(*snapshot.Certificate)
		return x
	}
	first := cert()
	if first == nil || strings.Join(first.ServerNames, " ") != "x.example.com" || snapshot.PEMDigest(first.PEM) != first.Content {
		t.Fatalf("the certificate is %+v", first)
	}
	expect(t, "plain", r.ask("default", "http://x.example.com/a?b"), "308 https://x.example.com/a?b")
	expect(t, "tls", r.ask("default", "https://x.example.com/"), "shop_web_http")

	if list := r.put("", "{apiVersion: v1, kind: Secret, type: kubernetes.io/tls, metadata: {name: cert, namespace: shop}, stringData: {tls.crt: nothing, tls.key: nothing}}"); len(list) > 0 {
		t.Errorf("a broken edit changed %+v", list)
	}
	if got := r.problems("default"); !strings.HasPrefix(got, "warned Ingress shop/i") || !strings.Contains(got, "the last good certificate stays in force") {
		t.Errorf("problems: %s", got)
	}
	fc := only(t, r.put("", secretYAML("cert", 1)))
	if len(fc.Revision.Changes) != 1 || cert().Content == first.Content {
		t.Errorf("a new certificate changed %+v", fc.Revision)
	}
	expect(t, "problems", r.problems("default"), "")

	r.gone("", "Secret shop/cert")
	expect(t, "plain", r.ask("default", "http://x.example.com/"), "503")
	expect(t, "tls", r.ask("default", "https://x.example.com/"), "503")
	if got := r.problems("default"); !strings.HasPrefix(got, "rejected Ingress shop/i") || cert() != nil {
		t.Errorf("the secret is gone: %s, %v", got, cert())
	}
	r.put("", secretYAML("cert", 0))
	r.gone("", "Ingress shop/i")
	if len(r.c.secrets) > 0 {
		t.Error("a key is kept that nobody names")
	}
}

// P10 over a whole history of edits of one Ingress.
func TestLastAcceptedAnnotationIsRememberedByIngress(t *testing.T) {
	r := newRig(t)
	edit := func(name, value string) {
		r.put("", ingress(name, "annotations: {berth.dev/timeout-server: "+value+"}", "", name+".example.com / web"))
	}
	r.put("", service("web", "10.0.0.1"))
	edit("i", "7s")
	good := r.spell("default")
	edit("i", "banana")
	edit("j", "banana")
	expect(t, "backends", r.spell("default"), "shop_web_http 10.0.0.1:8080\n"+good)
	if got := r.problems("default"); !strings.Contains(got, `"7s" stays in force`) || !strings.Contains(got, "the default is used") {
		t.Errorf("problems: %s", got)
	}
	r.gone("", "Ingress shop/i")
	edit("i", "banana")
	expect(t, "backends", r.spell("default"), "shop_web_http 10.0.0.1:8080")
}

// The fleets: one without any object, those that are written, and the same name from two sources.
func TestFleetsComeAndGo(t *testing.T) {
	r := newRig(t, "home", "west")
	if list := r.c.Compile(r.store.Read(), r.store.Apply(source.Batch{Source: "home", State: &source.State{Error: "no such directory"}})); len(list) > 0 {
		t.Fatalf("before anything was read nobody knows which fleets there are, but: %+v", list)
	}
	r.put("", service("web", "10.0.0.1")+ingress("i", "", "", "x.example.com / web"))
	expect(t, "default", r.spell("default"), "shop_web_http 10.0.0.1:8080")

	fleet := func(name, spec string) string {
		return "---\n{apiVersion: berth.dev/v1alpha1, kind: Fleet, metadata: {name: " + name + "}, spec: {" + spec + "}}\n"
	}
	list := r.put("", fleet("edge", "")+fleet("inner", "namespaces: {exclude: [shop]}"))
	if len(list) != 3 || !list[0].Gone || list[0].Fleet != "default" {
		t.Errorf("two fleets came: %+v", list)
	}
	expect(t, "edge", r.spell("edge"), "shop_web_http 10.0.0.1:8080")
	expect(t, "inner", r.spell("inner"), "")
	expect(t, "a host of no namespace of the fleet", r.ask("inner", "http://x.example.com/"), "404")

	r.put("west", fleet("edge", "ingressClasses: [west]"))
	expect(t, "edge", r.spell("edge"), "shop_web_http 10.0.0.1:8080")
	if got := r.problems("edge"); !strings.Contains(got, "warned Fleet edge (west): source home") {
		t.Errorf("problems: %s", got)
	}
	r.gone("", "Fleet edge")
	expect(t, "edge", r.spell("edge"), "")
	r.gone("west", "Fleet edge")
	if list := r.gone("", "Fleet inner"); len(list) != 2 || !list[0].Gone || list[0].Fleet != "inner" {
		t.Errorf("the last fleet went: %+v", list)
	}
	expect(t, "default", r.spell("default"), "shop_web_http 10.0.0.1:8080")
}

// A fleet's settings reach its sections, and its slot policy the tables, without a backend of another name.
func TestFleetSettings(t *testing.T) {
	r := newRig(t)
	r.put("", service("web", "10.0.0.1")+ingress("i", "annotations: {berth.dev/slots-minimum: \"16\"}", "", "x.example.com / web")+ingress("j", "", "", "y.example.com / web"))
	fc := only(t, r.put("", "{apiVersion: berth.dev/v1alpha1, kind: Fleet, metadata: {name: default}, spec: {slots: {minimum: 8, surgePercent: 50}, timeouts: {server: 1m, client: 9s}}}"))
	if len(fc.Revision.Changes) != 1 || len(fc.Endpoints) != 2 {
		t.Errorf("a fleet's settings changed %+v", fc)
	}
	for name, b := range fc.Endpoints {
		if want := map[bool]int{true: 8, false: 16}[name == "shop_web_http"]; b.Policy.Minimum != want || b.Policy.SurgePercent != 50 {
			t.Errorf("%s has the policy %+v", name, b.Policy)
		}
	}
	// What an Ingress asks for is now what the fleet has anyway.
	r.put("", "{apiVersion: berth.dev/v1alpha1, kind: Fleet, metadata: {name: default}, spec: {slots: {minimum: 16}}}")
	expect(t, "backends", r.spell("default"), "shop_web_http 10.0.0.1:8080")
}

// How long a leaving worker may go on is the fleet's, in the unit that it was given in.
func TestHardStopIsTheFleets(t *testing.T) {
	r := newRig(t)
	r.put("", service("web", "10.0.0.1")+ingress("i", "", "", "x.example.com / web"))
	fc := only(t, r.put("", "{apiVersion: berth.dev/v1alpha1, kind: Fleet, metadata: {name: default}, spec: {timeouts: {hardStopAfter: 90s}}}"))
	global, ok := fc.Revision.Changes[snapshot.Key{Kind: snapshot.KindSection, Name: "global"}].(*snapshot.Section)
	if len(fc.Revision.Changes) != 1 || !ok || !slices.ContainsFunc(global.Lines, func(l snapshot.Line) bool { return slices.Equal(l, snapshot.Line{"hard-stop-after", "90s"}) }) {
		t.Errorf("a fleet's hard stop changed %+v", fc.Revision.Changes)
	}
	if got := only(t, r.put("", "{apiVersion: berth.dev/v1alpha1, kind: Fleet, metadata: {name: default}}")); len(got.Revision.Changes) != 1 {
		t.Errorf("the default changed %+v", got.Revision.Changes)
	}
}

// Class objects that come, change hands and go move Ingresses in and out of the fleet.
func TestClassObjects(t *testing.T) {
	r := newRig(t)
	class := func(controller, isDefault string) {
		r.put("", "{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: berth, annotations: {ingressclass.kubernetes.io/is-default-class: \""+isDefault+"\"}}, spec: {controller: "+controller+"}}")
	}
	r.put("", service("web", "10.0.0.1")+ingress("i", "", "", "x.example.com / web")+
		strings.Replace(ingress("j", "", "", "y.example.com / web"), "ingressClassName: berth,", "", 1))
	state := func(x, y string) {
		t.Helper()
		expect(t, "of the class", r.ask("default", "http://x.example.com/"), x)
		expect(t, "of no class", r.ask("default", "http://y.example.com/"), y)
	}
	state("shop_web_http", "404")
	class("berth.dev/ingress", "true")
	state("shop_web_http", "shop_web_http")
	class("example.com/other", "true")
	state("404", "404")
	if got := r.problems("default"); !strings.Contains(got, "warned IngressClass berth (home)") {
		t.Errorf("problems: %s", got)
	}
	r.gone("", "IngressClass berth")
	state("shop_web_http", "404")
}

// Two sources: names of backends, age before the order of the sources, services of one's own cluster only.
func TestSources(t *testing.T) {
	r := newRig(t, "home", "west")
	r.put("west", service("web", "10.1.0.1")+ingress("i", "", "", "x.example.com / web", "w.example.com / web"))
	r.put("home", service("web", "10.0.0.1")+ingress("i", "", "", "x.example.com / web"))
	expect(t, "backends", r.spell("default"), "shop_web_http 10.0.0.1:8080\nwest.shop_web_http 10.1.0.1:8080")
	expect(t, "both want it", r.ask("default", "http://x.example.com/"), "shop_web_http")
	if got := r.problems("default"); !strings.Contains(got, "warned Ingress shop/i (west): Prefix path \"/\" of host \"x.example.com\" belongs to Ingress shop/i of cluster home") {
		t.Errorf("problems: %s", got)
	}
	r.put("west", ingress("i", "creationTimestamp: 2020-01-01T00:00:00Z", "", "x.example.com / web", "w.example.com / web"))
	expect(t, "the older has it", r.ask("default", "http://x.example.com/"), "west.shop_web_http")
}

// What a source reports is shown, and the hosts of an Ingress that it refused are closed.
func TestSourceReports(t *testing.T) {
	r := newRig(t)
	r.put("", service("web", "10.0.0.1")+ingress("i", "", "", "*.example.com / web"))
	key := source.Key{Cluster: "home", Kind: source.KindIngress, Namespace: "shop", Name: "bad"}
	report := func(problems ...source.Problem) {
		r.apply(source.Batch{Source: "home", Reports: []source.Report{{Origin: "a.yaml", Problems: problems}}})
	}
	report(source.Problem{Object: key, Severity: source.Rejected, Place: "a.yaml:3", Reason: "spec.rules: wrong", Hosts: []string{"pay.example.com"}, Class: "berth"},
		source.Problem{Object: source.Key{Cluster: "home"}, Severity: source.Rejected, Place: "a.yaml:9", Reason: "does not say what it is"},
		source.Problem{Object: source.Key{Cluster: "home", Kind: "Deployment", Namespace: "shop", Name: "x"}, Severity: source.Skipped})
	expect(t, "its host", r.ask("default", "http://pay.example.com/"), "503")
	expect(t, "another", r.ask("default", "http://other.example.com/"), "shop_web_http")
	expect(t, "problems", r.problems("default"), "rejected Ingress shop/bad (home): a.yaml:3: spec.rules: wrong\nrejected a.yaml:9 (home): does not say what it is")
	report()
	expect(t, "mended", r.ask("default", "http://pay.example.com/"), "shop_web_http")
	expect(t, "problems", r.problems("default"), "")
}

// Slices that count for nothing are warned about while a route needs their service.
func TestSliceWarnings(t *testing.T) {
	r := newRig(t)
	fqdn := strings.NewReplacer("IPv4", "FQDN", "10.0.0.9", "web.example.com").Replace(slice("web-f", "web", "10.0.0.9"))
	r.put("", service("web", "10.0.0.1")+fqdn)
	expect(t, "problems", r.problems("default"), "")
	r.put("", ingress("i", "", "", "x.example.com / web"))
	if got := r.problems("default"); !strings.HasPrefix(got, "warned EndpointSlice shop/web-f (home): is of addressType FQDN") {
		t.Errorf("problems: %s", got)
	}
	r.gone("", "Ingress shop/i")
	r.c.Release("default", []string{"shop_web_http"})
	expect(t, "problems", r.problems("default"), "")
}

// What has no service, port or certificate yet is served as soon as it has.
func TestWhatIsMissingIsServedWhenItComes(t *testing.T) {
	r := newRig(t)
	r.put("", ingress("i", "", "tls: [{hosts: [x.example.com], secretName: cert}],", "x.example.com / web"))
	expect(t, "nothing is there", r.ask("default", "https://x.example.com/"), "503")
	r.put("", secretYAML("cert", 0))
	expect(t, "the service is missing", r.ask("default", "https://x.example.com/"), "503")
	r.put("", strings.Replace(service("web", "10.0.0.1"), "{name: http, port: 80}", "{name: http, port: 81}", 1))
	expect(t, "the port is missing", r.ask("default", "https://x.example.com/"), "503")
	r.put("", service("web", "10.0.0.1"))
	expect(t, "all is there", r.ask("default", "https://x.example.com/"), "shop_web_http")
	expect(t, "problems", r.problems("default"), "")
	r.gone("", "EndpointSlice shop/web")
	expect(t, "no endpoint", r.ask("default", "https://x.example.com/"), "503")
	r.gone("", "Service shop/web")
	expect(t, "the service went", r.ask("default", "https://x.example.com/"), "503")
}

// What is too much for one resource is left out and said, and holds up nothing else.
func TestWhatNoRevisionCanHaveIsLeftOut(t *testing.T) {
	r := newRig(t)
	hosts := make([]string, 6000)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("h%d.%s.example.com", i, strings.Repeat("a", 60)+"."+strings.Repeat("b", 60)+"."+strings.Repeat("c", 60))
	}
	r.put("", service("web", "10.0.0.1")+ingress("i", "", "tls: [{hosts: ["+strings.Join(hosts, ", ")+"], secretName: cert}],", "x.example.com / web")+secretYAML("cert", 0))
	expect(t, "the rest", r.ask("default", "http://x.example.com/"), "shop_web_http")
	if got := r.problems("default"); !strings.Contains(got, "certificate shop/cert") || !strings.Contains(got, "left out") {
		t.Errorf("problems: %s", got)
	}
	r.put("", ingress("i", "", "tls: [{hosts: [x.example.com], secretName: cert}],", "x.example.com / web"))
	expect(t, "problems", r.problems("default"), "")
	expect(t, "certificates", fmt.Sprint(len(slices.Collect(snapshot.Of[*snapshot.Certificate](r.kept["default"].revision, snapshot.KindCertificate)))), "1")
}

func TestReaders(t *testing.T) {
	r := newRig(t)
	if r.c.Problems("default") != nil || r.c.Backends("default") != nil || r.c.Routes("default") != nil {
		t.Error("a fleet that is not there has something")
	}
	if _, err := r.c.Explain("default", "http://x/", nil); !errors.Is(err, ErrUnknownFleet) {
		t.Error("a fleet that is not there explains something")
	}
	r.put("", service("web", "10.0.0.1")+ingress("i", "", "defaultBackend: {service: {name: web, port: {name: http}}},", "x.example.com /a web")+ingress("j", "annotations: {berth.dev/balance: random}", "", "y.example.com / web"))
	b, ok := r.c.Backend("default", "shop/web:http")
	if !ok || b.Name != "shop_web_http" || b.Service != "shop/web:http" || b.Cluster != "home" {
		t.Errorf("by its service: %+v", b)
	}
	if b, ok := r.c.Backend("default", r.c.Backends("default")[1].Name); !ok || b.Name == "shop_web_http" {
		t.Errorf("by its name: %+v", b)
	}
	var routes []string
	for _, x := range r.c.Routes("default") {
		routes = append(routes, x.Host+" "+x.Match.String()+" "+x.Path)
	}
	expect(t, "routes", strings.Join(routes, "\n"), " Default /\nx.example.com Default /\nx.example.com Prefix /a\ny.example.com Prefix /")
	x, err := r.c.Explain("default", "https://x.example.com/a", r.kept["default"].generation)
	if err != nil || x.Outcome != explain.ToBackend || x.Match != "Prefix" || x.Path != "/a" || x.Host != "x.example.com" || x.Certificate != "default" ||
		strings.Join(x.Objects, ", ") != "Ingress shop/i, Service shop/web" || len(x.Slots) != 1 || x.Slots[0].Endpoint != "shop/pod-10-0-0-1" {
		t.Errorf("explained: %+v, %v", x, err)
	}
	for _, url := range []string{"x.example.com/", "ftp://x/", "http://x/a b", "http://x/\n", ""} {
		if _, err := r.c.Explain("default", url, nil); !errors.Is(err, ErrURL) {
			t.Errorf("%q is explained", url)
		}
	}
}
