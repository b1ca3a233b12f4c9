package compile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/explain"
	"github.com/berth-proxy/berth/controlplane/internal/slots"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/source/manifest"
	"github.com/berth-proxy/berth/controlplane/internal/store"
)

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// rig is the part of a plane around a compiler: a store in front of it, and what an engine keeps behind it.
type rig struct {
	t     tester
	store *store.Store
	c     *Compiler
	kept  map[string]*kept
	steps uint64
}

// kept is what an engine has of a fleet, from the changes alone.
type kept struct {
	revision   *snapshot.Revision
	generation *snapshot.Generation
	endpoints  map[string]Backend
	retired    map[string]bool
}

func newRig(t tester, sources ...string) *rig {
	if len(sources) == 0 {
		sources = []string{"home"}
	}
	return &rig{t: t, store: store.New(sources...), c: New(sources[0], sources[1:]...), kept: map[string]*kept{}}
}

// objects decodes a file as the directory source does. An object that it would refuse fails the test.
func objects(t tester, text string) []source.Object {
	t.Helper()
	docs, err := manifest.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatalf("the test's own YAML: %v\n%s", err, text)
	}
	var list []source.Object
	for _, d := range docs {
		if d.Object == nil {
			t.Fatalf("the test's own YAML, line %d: %s%s", d.Line, d.Rejected, d.Skipped)
		}
		list = append(list, d.Object)
	}
	return list
}

// put applies objects of a source, "" for the first.
func (r *rig) put(cluster, text string) []FleetChange {
	r.t.Helper()
	b := source.Batch{Source: r.cluster(cluster)}
	for _, o := range objects(r.t, text) {
		b.Put = append(b.Put, source.NewRow(b.Source, o))
	}
	return r.apply(b)
}

// gone takes objects of a source away, as "Kind namespace/name".
func (r *rig) gone(cluster string, names ...string) []FleetChange {
	r.t.Helper()
	b := source.Batch{Source: r.cluster(cluster)}
	for _, n := range names {
		kind, name, _ := strings.Cut(n, " ")
		namespace, name, namespaced := strings.Cut(name, "/")
		if !namespaced {
			namespace, name = "", namespace
		}
		b.Gone = append(b.Gone, source.Key{Cluster: b.Source, Kind: source.Kind(kind), Namespace: namespace, Name: name})
	}
	return r.apply(b)
}

func (r *rig) cluster(name string) string {
	if name == "" {
		return r.c.home
	}
	return name
}

// apply compiles a batch and does with the changes what an engine does. COMP-3: nothing in them is as it was.
func (r *rig) apply(b source.Batch) []FleetChange {
	r.t.Helper()
	b.Seen = time.Unix(int64(r.steps+1), 0)
	return r.compile(r.store.Apply(b))
}

func (r *rig) compile(changes store.Changes) []FleetChange {
	r.t.Helper()
	r.steps++
	list := r.c.Compile(r.store.Read(), changes)
	for _, fc := range list {
		if !fc.Seen.Equal(changes.Seen()) {
			r.t.Errorf("fleet %s: seen at %s, want %s", fc.Fleet, fc.Seen, changes.Seen())
		}
		if fc.Gone {
			delete(r.kept, fc.Fleet)
			continue
		}
		if r.kept[fc.Fleet] == nil {
			r.kept[fc.Fleet] = &kept{snapshot.EmptyRevision(), snapshot.EmptyGeneration(), map[string]Backend{}, map[string]bool{}}
		}
		r.keep(r.kept[fc.Fleet], fc)
	}
	return list
}

func (r *rig) keep(k *kept, fc FleetChange) {
	r.t.Helper()
	for key, next := range fc.Revision.Changes {
		if old := k.revision.Get(key); same(old, next) {
			r.t.Errorf("COMP-3: fleet %s: %s is in the change and is as it was", fc.Fleet, key)
		}
		if next == nil {
			continue
		}
		if err := snapshot.Check(next); err != nil {
			r.t.Errorf("fleet %s: %v", fc.Fleet, err)
		}
	}
	k.revision = k.revision.Apply(fc.Revision, snapshot.Version{Number: r.steps})
	delta := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{}}
	for name, b := range fc.Endpoints {
		if old, had := k.endpoints[name]; had && slices.Equal(old.Endpoints, b.Endpoints) && old.Policy == b.Policy && k.revision.Backend(name) != nil &&
			fc.Revision.Changes[snapshot.Key{Kind: snapshot.KindBackend, Name: name}] == nil {
			r.t.Errorf("COMP-3: fleet %s: the endpoints of %s are in the change and are as they were", fc.Fleet, name)
		}
		k.endpoints[name] = b
		if _, d, changed := slots.Assign(name, k.generation.Table(name), b.Endpoints, b.Policy, snapshot.Version{Number: r.steps}); changed {
			delta.Tables[name] = d
		}
	}
	k.generation = k.generation.Apply(delta, snapshot.Version{Number: r.steps})
	for name := range k.endpoints {
		if k.revision.Backend(name) == nil {
			k.retired[name] = true
		} else {
			delete(k.retired, name)
		}
	}
	live := 0
	for b := range snapshot.Of[*snapshot.Backend](k.revision, snapshot.KindBackend) {
		if b.Name == explain.Unavailable {
			continue
		}
		live++
		if _, told := k.endpoints[b.Name]; !told {
			r.t.Errorf("fleet %s: %s is in the revision, and nobody told its endpoints", fc.Fleet, b.Name)
		}
	}
	if f := r.c.fleets[fc.Fleet]; f != nil && f.live != live {
		r.t.Errorf("fleet %s: %d backends are counted, the revision has %d", fc.Fleet, f.live, live)
	}
}

// spell writes the live backends of a fleet with their endpoints.
func (r *rig) spell(fleet string) string {
	k := r.kept[fleet]
	if k == nil {
		return "no fleet"
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(k.endpoints)) {
		if k.retired[name] {
			continue
		}
		line := name
		for _, e := range k.endpoints[name].Endpoints {
			line += fmt.Sprintf(" %s:%d", e.Address, e.Port)
			if e.State == snapshot.Drain {
				line += "(drain)"
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// problems writes the problems of a fleet, one a line.
func (r *rig) problems(fleet string) string {
	var lines []string
	for _, p := range r.c.Problems(fleet) {
		lines = append(lines, fmt.Sprintf("%s %s (%s): %s", p.State, p.Object, p.Cluster, p.Reason))
	}
	return strings.Join(lines, "\n")
}

// ask explains a URL in one line: the backend, or the status.
func (r *rig) ask(fleet, url string) string {
	r.t.Helper()
	x, err := r.c.Explain(fleet, url, r.kept[fleet].generation)
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	switch x.Outcome {
	case explain.ToBackend:
		return x.Backend
	case explain.Redirected:
		return fmt.Sprintf("%d %s", x.Status, x.Location)
	default:
		return fmt.Sprint(x.Status)
	}
}

// sections counts what of a change is not an entry of a map: what may cost a reload.
func structural(fc FleetChange) int {
	n := 0
	for key := range fc.Revision.Changes {
		if key.Kind != snapshot.KindMapEntry {
			n++
		}
	}
	return n
}

// service writes a Service with port 80 named http and one slice with these addresses, port 8080.
func service(name string, addresses ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: shop}, spec: {ports: [{name: http, port: 80}]}}\n", name)
	return b.String() + slice(name, name, addresses...)
}

func slice(name, service string, addresses ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\n{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, ports: [{name: http, port: 8080}],\n metadata: {name: %s, namespace: shop, labels: {kubernetes.io/service-name: %s}}, endpoints: [", name, service)
	for _, a := range addresses {
		fmt.Fprintf(&b, "{addresses: [%q], targetRef: {kind: Pod, name: %q}},", a, "pod-"+strings.ReplaceAll(a, ".", "-"))
	}
	return b.String() + "]}\n"
}

// ingress writes an Ingress of class berth with rules "HOST PATH SERVICE"; more is further YAML of metadata, tls of spec.
func ingress(name string, more, spec string, rules ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\n{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: %s, namespace: shop, %s},\n spec: {ingressClassName: berth, %s rules: [", name, more, spec)
	for _, rule := range rules {
		f := strings.Fields(rule)
		fmt.Fprintf(&b, "{host: %q, http: {paths: [{path: %q, pathType: Prefix, backend: {service: {name: %s, port: {number: 80}}}}]}},", strings.Trim(f[0], "-"), f[1], f[2])
	}
	return b.String() + "]}}\n"
}
