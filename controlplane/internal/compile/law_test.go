package compile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// universe draws objects from a small world, so that they meet often: hosts are shared, services come and go under Ingresses, ages tie. Secrets and annotations are never
// spoilt after they were good, since what was last accepted is history (COMP-1).
type universe struct{ *rapid.T }

func (u universe) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(u.T, label)
}

func (u universe) flip(label string) bool { return rapid.Bool().Draw(u.T, label) }

func (u universe) object() string {
	switch u.pick("kind", "service", "slice", "slice", "slice", "ingress", "ingress", "ingress", "ingress", "secret", "class", "fleet", "policy", "policy") {
	case "service":
		return u.service()
	case "slice":
		return u.slice()
	case "ingress":
		return u.ingress()
	case "secret":
		return u.secret()
	case "policy":
		return u.policy()
	case "class":
		return fmt.Sprintf("{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: %s, annotations: {ingressclass.kubernetes.io/is-default-class: %q}}, spec: {controller: %s}}",
			u.pick("class", "berth", "edge"), u.pick("default", "true", "false"), u.pick("controller", "berth.dev/ingress", "berth.dev/ingress", "example.com/other"))
	default:
		return u.fleet()
	}
}

func (u universe) service() string {
	spec := u.pick("service", "ports: [{name: http, port: 80}]", "ports: [{name: http, port: 80}, {name: admin, port: 81}]", "ports: [{port: 80}]",
		"ports: [{name: http, port: 80, appProtocol: kubernetes.io/h2c}]",
		"ports: [{name: http, port: 81}]", "ports: [{name: http, port: 80, protocol: UDP}]", "ipFamilies: [IPv6], ports: [{name: http, port: 80}]",
		"type: ExternalName, externalName: x.example.com, ports: [{name: http, port: 80}]")
	return fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: %s}, spec: {%s}}", u.pick("name", "web", "api"), u.pick("namespace", "shop", "pay"), spec)
}

func (u universe) slice() string {
	family, address := "IPv4", "10.0.0."
	if u.pick("family", "4", "4", "4", "6") == "6" {
		family, address = "IPv6", "fd00::"
	}
	var endpoints []string
	for _, n := range rapid.SliceOfN(rapid.IntRange(1, 4), 0, 3).Draw(u.T, "endpoints") {
		endpoints = append(endpoints, fmt.Sprintf("{addresses: [%q], conditions: {%s}, targetRef: {kind: Pod, name: p%d}}", address+fmt.Sprint(n),
			u.pick("conditions", "ready: true", "ready: true", "", "ready: false", "ready: false, serving: true, terminating: true"), n))
	}
	if u.pick("FQDN", "no", "no", "no", "no", "no", "yes") == "yes" {
		family, endpoints = "FQDN", []string{`{addresses: ["web.example.com"]}`}
	}
	return fmt.Sprintf("{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: %s, metadata: {name: s%s, namespace: %s, labels: {kubernetes.io/service-name: %s}}, ports: [{name: %q, port: %s}], endpoints: [%s]}",
		family, u.pick("name", "1", "2", "3"), u.pick("namespace", "shop", "pay"), u.pick("service", "web", "api"), u.pick("port", "http", "http", "", "admin"),
		u.pick("number", "8080", "9090"), strings.Join(endpoints, ", "))
}

func (u universe) ingress() string {
	var meta, spec, rules, tls []string
	if u.flip("aged") {
		meta = append(meta, "creationTimestamp: "+u.pick("age", "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"))
	}
	meta = append(meta, "annotations: {"+u.pick("annotations", "", "", "berth.dev/balance: uri", "berth.dev/balance: roundrobin", "berth.dev/slots-minimum: \"8\"",
		"berth.dev/ssl-redirect: \"false\"", "berth.dev/timeout-server: 7s, berth.dev/affinity: cookie", "berth.dev/affinity: cookie, berth.dev/sticky-drain: keep", "berth.dev/weights: 'web=2, api=1'", "berth.dev/weights: 'web=1, none=1'", "berth.dev/backend-protocol: h2c",
		"kubernetes.io/ingress.class: edge")+"}")
	if !strings.Contains(meta[len(meta)-1], "ingress.class") {
		if class := u.pick("class", "berth", "berth", "berth", "edge", ""); class != "" {
			spec = append(spec, "ingressClassName: "+class)
		}
	}
	for range rapid.IntRange(0, 3).Draw(u.T, "rules") {
		rules = append(rules, u.rule())
	}
	if len(rules) == 0 || u.flip("default backend") {
		spec = append(spec, fmt.Sprintf("defaultBackend: {service: {name: %s, port: {%s}}}", u.pick("service", "web", "api"), u.pick("port", "number: 80", "name: http")))
	}
	for range rapid.IntRange(0, 2).Draw(u.T, "tls") {
		hosts := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x.example.com", "y.example.com", "*.example.com"}), 0, 2, rapid.ID).Draw(u.T, "hosts")
		tls = append(tls, fmt.Sprintf("{secretName: %q, hosts: [%s]}", u.pick("secret", "s1", "s2", "never", ""), `"`+strings.Join(hosts, `", "`)+`"`))
		if len(hosts) == 0 {
			tls[len(tls)-1] = strings.Replace(tls[len(tls)-1], `, hosts: [""]`, "", 1)
		}
	}
	spec = append(spec, "rules: ["+strings.Join(rules, ", ")+"]", "tls: ["+strings.Join(tls, ", ")+"]")
	return fmt.Sprintf("{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i%s, namespace: %s, %s}, spec: {%s}}",
		u.pick("name", "1", "2", "3", "4"), u.pick("namespace", "shop", "pay"), strings.Join(meta, ", "), strings.Join(spec, ", "))
}

func (u universe) rule() string {
	host := u.pick("host", "", "x.example.com", "x.example.com", "y.example.com", "*.example.com")
	var paths []string
	for range rapid.IntRange(0, 2).Draw(u.T, "paths") {
		paths = append(paths, fmt.Sprintf("{path: %q, pathType: %s, backend: {service: {name: %s, port: {%s}}}}", u.pick("path", "/", "/a", "/a/", "/a/b", "/a b"),
			u.pick("type", "Exact", "Prefix", "Prefix", "ImplementationSpecific"), u.pick("service", "web", "web", "api", "none"), u.pick("port", "number: 80", "number: 80", "name: http", "name: admin")))
	}
	if len(paths) == 0 {
		return fmt.Sprintf("{host: %q}", host)
	}
	return fmt.Sprintf("{host: %q, http: {paths: [%s]}}", host, strings.Join(paths, ", "))
}

// secret is never the same name good and bad: "never" is never good.
func (u universe) secret() string {
	if name := u.pick("secret", "s1", "s2", "never"); name != "never" {
		text := secretYAML(name, rapid.IntRange(0, 1).Draw(u.T, "certificate"))
		return strings.Replace(text, "namespace: shop", "namespace: "+u.pick("namespace", "shop", "pay"), 1)
	}
	return "{apiVersion: v1, kind: Secret, type: kubernetes.io/tls, metadata: {name: never, namespace: " + u.pick("namespace", "shop", "pay") + "}, stringData: {tls.crt: nothing, tls.key: nothing}}"
}

func (u universe) policy() string {
	var targets []string
	for range rapid.IntRange(1, 2).Draw(u.T, "targets") {
		targets = append(targets, fmt.Sprintf("{kind: %s, name: %s%s}", u.pick("kind", "Service", "Service", "Service", "Gateway"), u.pick("service", "web", "web", "api", "none"),
			u.pick("section", "", "", ", sectionName: http", ", sectionName: admin")))
	}
	age := u.pick("age", "", ", creationTimestamp: 2020-01-01T00:00:00Z")
	return fmt.Sprintf("{apiVersion: berth.dev/v1alpha1, kind: BackendPolicy, metadata: {name: p%s, namespace: %s%s}, spec: {targetRefs: [%s]%s}}", u.pick("name", "1", "2", "3"), u.pick("namespace", "shop", "pay"),
		age, strings.Join(targets, ", "), u.pick("says", ", balance: source", ", protocol: h2c", ", affinity: {}", ", affinity: {cookie: {}}", ", slots: {minimum: 16}", ", timeouts: {server: 60s}", ""))
}

func (u universe) fleet() string {
	spec := u.pick("spec", "", "namespaces: {exclude: [pay]}", "namespaces: {include: ['p*']}", "ingressClasses: [edge, berth]", "ingressWithoutClass: true",
		"timeouts: {server: 7s}", "slots: {minimum: 8}", "slots: {surgePercent: 100}")
	return fmt.Sprintf("{apiVersion: berth.dev/v1alpha1, kind: Fleet, metadata: {name: %s}, spec: {%s}}", u.pick("fleet", "default", "one", "two"), spec)
}

// COMP-1, COMP-3: whatever the history and however it was cut into batches, what the changes add up to is what compiling the end state at once gives.
func TestLawStepByStepIsAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := universe{t}
		steps := newRig(t, "home", "west")
		rows := map[source.Key]source.Object{}
		t.Repeat(map[string]func(*rapid.T){
			"batch": func(t *rapid.T) {
				b := source.Batch{Source: u.pick("source", "home", "home", "west")}
				for range rapid.IntRange(1, 4).Draw(t, "objects") {
					if mine := keysOf(rows, b.Source); len(mine) > 0 && u.pick("goes", "no", "no", "yes") == "yes" {
						b.Gone = append(b.Gone, rapid.SampledFrom(mine).Draw(t, "which"))
						delete(rows, b.Gone[len(b.Gone)-1])
						continue
					}
					row := source.NewRow(b.Source, objects(t, u.object())[0])
					b.Put = slices.DeleteFunc(b.Put, func(r source.Row) bool { return r.Key == row.Key })
					b.Gone = slices.DeleteFunc(b.Gone, func(k source.Key) bool { return k == row.Key })
					b.Put = append(b.Put, row)
					rows[row.Key] = row.Object
				}
				b.Put = slices.DeleteFunc(b.Put, func(r source.Row) bool { return rows[r.Key] == nil })
				steps.apply(b)
			},
			"release": func(t *rapid.T) {
				for name, k := range steps.kept {
					retired := slices.Sorted(maps.Keys(k.retired))
					steps.c.Release(name, retired)
					for _, b := range retired {
						delete(k.endpoints, b)
						delete(k.retired, b)
					}
				}
			},
			"": func(t *rapid.T) {
				once := newRig(t, "home", "west")
				for _, cluster := range []string{"home", "west"} {
					b := source.Batch{Source: cluster}
					for _, k := range keysOf(rows, cluster) {
						b.Put = append(b.Put, source.Row{Key: k, Object: rows[k]})
					}
					once.store.Apply(b)
				}
				if len(rows) > 0 {
					changes, _, err := once.store.Next(context.Background())
					if err != nil {
						t.Fatal(err)
					}
					once.compile(changes)
				}
				compareRigs(t, steps, once)
			},
		})
	})
}

func keysOf(rows map[source.Key]source.Object, cluster string) []source.Key {
	var keys []source.Key
	for k := range rows {
		if k.Cluster == cluster {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b source.Key) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return keys
}

func compareRigs(t *rapid.T, steps, once *rig) {
	if got, want := steps.c.Fleets(), once.c.Fleets(); len(want) > 0 && !slices.Equal(got, want) {
		t.Fatalf("fleets %v, at once %v", got, want)
	}
	for _, name := range once.c.Fleets() {
		a, b := steps.kept[name], once.kept[name]
		if a.revision.Digest() != b.revision.Digest() {
			t.Fatalf("fleet %s: the revisions differ: %v", name, slices.Collect(maps.Keys(snapshot.DiffRevisions(b.revision, a.revision).Changes)))
		}
		if a.revision.Digest() != steps.c.fleets[name].revision.Digest() {
			t.Fatalf("fleet %s: the changes do not add up to the compiler's own revision", name)
		}
		if got, want := steps.spell(name), once.spell(name); got != want {
			t.Fatalf("fleet %s has the endpoints\n%s\nat once\n%s", name, got, want)
		}
		for backend, e := range b.endpoints {
			if a.endpoints[backend].Policy != e.Policy {
				t.Fatalf("fleet %s: %s has the policy %v, at once %v", name, backend, a.endpoints[backend].Policy, e.Policy)
			}
		}
		if got, want := steps.problems(name), once.problems(name); got != want {
			t.Fatalf("fleet %s has the problems\n%s\nat once\n%s", name, got, want)
		}
		if got, want := fmt.Sprint(steps.c.Routes(name), steps.c.Backends(name)), fmt.Sprint(once.c.Routes(name), once.c.Backends(name)); got != want {
			t.Fatalf("fleet %s has\n%s\nat once\n%s", name, got, want)
		}
	}
	if a, b := steps.c.policies, once.c.policies; len(a.parsed) != len(b.parsed) || len(a.of) != len(b.of) || len(a.notes) != len(b.notes) {
		t.Fatalf("policies are kept for %d services with %d notes, at once for %d with %d", len(a.of), len(a.notes), len(b.of), len(b.notes))
	}
	if len(steps.c.secrets) != len(once.c.secrets) {
		t.Fatalf("%d secrets are kept, at once %d", len(steps.c.secrets), len(once.c.secrets))
	}
}
