package desired

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/berth-proxy/berth/api/v1alpha1"
)

func policyOf(t *testing.T, name, text string) *Policy {
	t.Helper()
	obj := read[v1alpha1.BackendPolicy](t, text)
	obj.Name = name
	return ParsePolicy(obj, Ref{"a", "shop", name}, 0)
}

const forWeb = "spec: {targetRefs: [{group: \"\", kind: Service, name: web}], "

func TestPolicySettings(t *testing.T) {
	for spec, want := range map[string]Settings{
		"":                   {},
		"balance: leastconn": {Balance: LeastConn},
		"timeouts: {connect: 1s, server: 2s, queue: 3s}": {TimeoutConnect: "1s", TimeoutServer: "2s", TimeoutQueue: "3s"},
		"affinity: {}":           {Affinity: AffinityNone},
		"affinity: {cookie: {}}": {Affinity: AffinityCookie},
		"affinity: {cookie: {name: sid}, stickyDrain: keep}": {Affinity: AffinityCookie, CookieName: "sid", StickyDrain: StickyKeep},
		"check: {}":        {Check: Check{Kind: CheckNone}},
		"check: {tcp: {}}": {Check: Check{Kind: CheckTCP}},
		"check: {http: {path: /ready}, interval: 9s}": {Check: Check{Kind: CheckHTTP, Path: "/ready"}, CheckInterval: "9s"},
		"protocol: h2": {Protocol: H2},
		"slots: {minimum: 8}, maxConnectionsPerPod: 200": {SlotsMinimum: 8, MaxConnections: 200},
	} {
		p := policyOf(t, "p", forWeb+spec+"}")
		if p.Settings != want || len(p.Notes) > 0 {
			t.Errorf("%s: %+v, %v, want %+v", spec, p.Settings, p.Notes, want)
		}
	}
}

// A policy wins over annotations field by field, and a group that it has over all of the group.
func TestPolicyOverAnnotations(t *testing.T) {
	ingress := Settings{Balance: URI, TimeoutServer: "9s", Affinity: AffinityCookie, CookieName: "mine", StickyDrain: StickyKeep, Check: Check{Kind: CheckTCP}, CheckInterval: "7s"}
	for spec, change := range map[string]func(*Settings){
		"":                          func(*Settings) {},
		"balance: random":           func(s *Settings) { s.Balance = Random },
		"affinity: {}":              func(s *Settings) { s.Affinity, s.CookieName, s.StickyDrain = AffinityNone, "", "" },
		"affinity: {cookie: {}}":    func(s *Settings) { s.CookieName, s.StickyDrain = "", "" },
		"check: {http: {path: /a}}": func(s *Settings) { s.Check, s.CheckInterval = Check{Kind: CheckHTTP, Path: "/a"}, "" },
		"check: {}":                 func(s *Settings) { s.Check, s.CheckInterval = Check{Kind: CheckNone}, "" },
		"timeouts: {connect: 2s}":   func(s *Settings) { s.TimeoutConnect = "2s" },
		"timeouts: {server: 60s}":   func(s *Settings) { s.TimeoutServer = "60s" },
	} {
		want := ingress
		change(&want)
		if got := PolicySettings([]*Policy{policyOf(t, "p", forWeb+spec+"}")}).Under(ingress); got != want {
			t.Errorf("%s: %+v, want %+v", spec, got, want)
		}
	}
}

// WANT-2: which policy counts does not depend on the order in which they came. One for a port stands over one for its service, and of two for the same the older counts.
func TestWhichPolicyCounts(t *testing.T) {
	const old, older = "metadata: {creationTimestamp: 2020-01-01T00:00:00Z}\n", "metadata: {creationTimestamp: 2019-01-01T00:00:00Z}\n"
	policies := []*Policy{
		policyOf(t, "young", forWeb+"balance: uri}"),
		policyOf(t, "whole", old+forWeb+"balance: random, timeouts: {server: 5s}}"),
		policyOf(t, "port", forWeb[:len(forWeb)-4]+", sectionName: http}], balance: source, protocol: h2c}"),
		policyOf(t, "admin", older+forWeb[:len(forWeb)-4]+", sectionName: admin}], maxConnectionsPerPod: 7}"),
		policyOf(t, "admin2", old+"spec: {targetRefs: [{kind: Service, name: web, sectionName: admin}, {kind: Service, name: api}], balance: uri}"),
	}
	service := Ref{"a", "shop", "web"}
	svc := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "admin", Port: 81}, {Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}}}}
	for range 20 {
		rand.Shuffle(len(policies), func(i, j int) { policies[i], policies[j] = policies[j], policies[i] })
		for port, want := range map[string]Settings{
			"http":  {Balance: Source, Protocol: H2C, TimeoutServer: "5s"},
			"admin": {Balance: Random, TimeoutServer: "5s", MaxConnections: 7},
			"other": {Balance: Random, TimeoutServer: "5s"},
		} {
			if got := PolicySettings(PoliciesFor(service, Port{Name: port, Number: 1}, policies)); got != want {
				t.Errorf("port %s: %+v, want %+v", port, got, want)
			}
		}
		if got := PolicySettings(PoliciesFor(Ref{"a", "shop", "api"}, Port{Number: 80}, policies)); got != (Settings{Balance: URI}) {
			t.Errorf("another service: %+v", got)
		}
		if got := PoliciesFor(Ref{"b", "shop", "web"}, Port{Name: "http"}, policies); len(got) > 0 {
			t.Errorf("the service of another cluster has %v", got)
		}
		notes := spellNotes(PolicyNotes(service, svc, policies))
		for _, want := range []string{
			"shop/young: has no effect for the service shop/web: BackendPolicy shop/whole, which is older, is for it too",
			"shop/admin2: has no effect for the port \"admin\" of service shop/web: BackendPolicy shop/admin, which is older",
		} {
			if !strings.Contains(notes, want) {
				t.Errorf("the notes are\n%swant %s", notes, want)
			}
		}
		if strings.Count(notes, "\n") != 2 {
			t.Errorf("the notes are\n%s", notes)
		}
	}
	gone := spellNotes(PolicyNotes(service, nil, policies[:1]))
	if !strings.Contains(gone, "which does not exist; it has no effect there") {
		t.Errorf("without the service: %s", gone)
	}
	svc.Spec.Ports = svc.Spec.Ports[:1]
	if got := spellNotes(PolicyNotes(service, svc, policies)); !strings.Contains(got, "admin: is for the port \"admin\" of service shop/web, which has no such TCP port") {
		t.Errorf("without the port: %s", got)
	}
	dns := policyOf(t, "dns", forWeb[:len(forWeb)-4]+", sectionName: dns}]}")
	if got := spellNotes(PolicyNotes(service, svc, []*Policy{dns})); !strings.Contains(got, "has no such TCP port") {
		t.Errorf("of a UDP port: %s", got)
	}
}

// What no source should let through has no effect, and is told.
func TestInvalidPolicySaysNothing(t *testing.T) {
	p := policyOf(t, "p", forWeb+`balance: "random\nserver x 10.0.0.1:1"}`)
	if len(p.Targets) > 0 || p.Settings != (Settings{}) {
		t.Errorf("%+v", p)
	}
	holdsAll(t, "the notes", reasons(p.Notes), "rejected: is not valid: spec.balance: Unsupported value")
}

func spellNotes(notes []PolicyNote) string {
	var b strings.Builder
	for _, n := range notes {
		fmt.Fprintf(&b, "%s: %s\n", n.Policy, n.Note.Reason)
	}
	return b.String()
}

// A target of a kind that nobody serves is warned about, and the others are served.
func TestPolicyTargets(t *testing.T) {
	p := policyOf(t, "p", "spec: {targetRefs: [{kind: Service, name: web}, {group: gateway.networking.k8s.io, kind: Gateway, name: x}, {kind: Pod, name: pod-1}, {kind: Service, name: web}, {group: apps, kind: Service, name: z}]}")
	if len(p.Targets) != 1 || p.Targets[0].Service != (Ref{"a", "shop", "web"}) {
		t.Errorf("targets %v", p.Targets)
	}
	holdsAll(t, "the notes", reasons(p.Notes), "names the gateway.networking.k8s.io/Gateway x", "names the Pod pod-1", "names the apps/Service z")
}

// The documentation names every field of a BackendPolicy, and none that there is not.
func TestEveryFieldIsDocumented(t *testing.T) {
	told := map[string]bool{"targetRefs": true}
	for _, s := range AllSettings() {
		for _, field := range strings.Split(s.Field, ", ") {
			first, _, _ := strings.Cut(field, ".")
			told[first] = true
		}
	}
	delete(told, "")
	fields := reflect.TypeFor[v1alpha1.BackendPolicySpec]()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		if !told[name] {
			t.Errorf("spec.%s is not told", name)
		}
		delete(told, name)
	}
	if len(told) > 0 {
		t.Errorf("%v are told, and there are none", told)
	}
}
