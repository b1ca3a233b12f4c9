package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// at is the n-th second of a clock that only tests have.
func at(n int) time.Time { return time.Unix(int64(n), 0).UTC() }

func service(name string, port int32) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: port}}},
	}
}

func slice(name, service string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service},
	}}
}

func rows(cluster string, objects ...source.Object) []source.Row {
	var list []source.Row
	for _, o := range objects {
		list = append(list, source.NewRow(cluster, o))
	}
	return list
}

func put(cluster string, seen int, objects ...source.Object) source.Batch {
	return source.Batch{Source: cluster, Seen: at(seen), Put: rows(cluster, objects...)}
}

func gone(cluster string, seen int, objects ...source.Object) source.Batch {
	b := source.Batch{Source: cluster, Seen: at(seen)}
	for _, row := range rows(cluster, objects...) {
		b.Gone = append(b.Gone, row.Key)
	}
	return b
}

func next(t *testing.T, s *Store) (Changes, Read) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	changes, read, err := s.Next(ctx)
	if err != nil {
		t.Fatalf("Next: %v", err)
	}
	return changes, read
}

// idle proves that Next has nothing to give.
func idle(t *testing.T, s *Store) {
	t.Helper()
	if changes, _, ok := s.take(); ok {
		t.Fatalf("Next would give %v", changes)
	}
}

// STORE-3: an object is given once, from what the consumer knew to what it is now, with the earliest time.
func TestNextMerges(t *testing.T) {
	s := New("a")
	v1, v2, v3 := service("web", 1), service("web", 2), service("web", 3)
	s.Apply(put("a", 1, v1))
	changes, _ := next(t, s)
	if c := changes.Objects; len(c) != 1 || c[0].Before != nil || c[0].After != v1 || !c[0].Seen.Equal(at(1)) {
		t.Fatalf("the new service is %+v", c)
	}

	s.Apply(put("a", 5, v2))
	s.Apply(put("a", 4, v3))
	s.Apply(put("a", 6, service("other", 1)))
	changes, read := next(t, s)
	if len(changes.Objects) != 2 || !changes.Seen().Equal(at(4)) {
		t.Fatalf("merged: %+v", changes.Objects)
	}
	if web := changes.Objects[1]; web.Before != v1 || web.After != v3 || !web.Seen.Equal(at(4)) {
		t.Errorf("web went %v -> %v seen %v, want v1 -> v3 seen at 4", web.Before, web.After, web.Seen)
	}
	if read.Service("a", "shop", "web") != v3 {
		t.Error("the state that came along is not the one that the changes lead to")
	}
	idle(t, s)
}

// STORE-3: what came back to what the consumer knows is no change, and does not wake it.
func TestNextLeavesOutWhatCameBack(t *testing.T) {
	s := New("a")
	web := service("web", 1)
	s.Apply(put("a", 1, web))
	s.Apply(gone("a", 2, web))
	idle(t, s)
	s.Apply(put("a", 3, web))
	next(t, s)
	s.Apply(gone("a", 4, web))
	s.Apply(put("a", 5, web))
	idle(t, s)
	s.Apply(gone("a", 6, service("never", 1)))
	idle(t, s)
}

func TestNextWaits(t *testing.T) {
	s := New("a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next of a cancelled context gives %v", err)
	}
	got := make(chan Changes, 1)
	go func() {
		changes, _, err := s.Next(t.Context())
		if err != nil {
			t.Error(err)
		}
		got <- changes
	}()
	s.Apply(source.Batch{Source: "a", State: &source.State{Error: "no such directory", StaleSince: at(1)}})
	select {
	case changes := <-got:
		if !slices.Equal(changes.Sources, []string{"a"}) || len(changes.Objects) != 0 {
			t.Errorf("a state of a source gives %+v", changes)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("a source's state did not wake the consumer")
	}
}

// STORE-5, SRC-3: a list replaces what its source had, rows and problems, and nothing of another source; the same content in a new
// object is no change.
func TestFullReplacesOneSource(t *testing.T) {
	s := New("a", "b")
	s.Apply(put("a", 1, service("web", 1), service("old", 1), slice("web-1", "web")))
	s.Apply(put("b", 1, service("web", 9)))
	problem := source.Problem{Object: source.Key{Cluster: "a", Kind: source.KindService, Namespace: "shop", Name: "old"},
		Severity: source.Warned, Reason: "old"}
	s.Apply(source.Batch{Source: "a", Reports: []source.Report{{Origin: "old.yaml", Problems: []source.Problem{problem}}}})
	_, before := next(t, s)

	changes := s.Apply(source.Batch{Source: "a", Seen: at(2), Full: true, Put: rows("a", service("web", 1), service("new", 1)),
		State: &source.State{Listed: true, Synced: true}})
	var keys []string
	for _, c := range changes.Objects {
		keys = append(keys, fmt.Sprintf("%s %t %t %t", c.Key, c.Before != nil, c.After != nil, c.Problems))
	}
	want := []string{"EndpointSlice shop/web-1 true false false", "Service shop/new false true false", "Service shop/old true false true"}
	if !slices.Equal(keys, want) {
		t.Errorf("the list changed\n%q, want\n%q", keys, want)
	}
	read := s.Read()
	if read.Service("b", "shop", "web") == nil {
		t.Error("the list of one source took a row of another")
	}
	for p := range read.Problems() {
		t.Errorf("a problem is left that no list reports: %v", p)
	}
	a, _ := read.Source("a")
	if a.Rows[source.KindService] != 2 || a.Rows[source.KindEndpointSlice] != 0 || !a.Synced {
		t.Errorf("source a is %+v", a)
	}
	// STORE-2: the older state is as it was.
	if before.Service("a", "shop", "old") == nil || len(slices.Collect(before.Problems())) != 1 {
		t.Error("a Read changed under its reader")
	}
	if old, _ := before.Source("a"); old.Rows[source.KindEndpointSlice] != 1 {
		t.Error("the counts of an older Read changed")
	}
}

// A report replaces the one before it; the objects that it concerned and concerns are changes, whether they have rows or not.
func TestReports(t *testing.T) {
	s := New("a")
	web := service("web", 1)
	s.Apply(put("a", 1, web))
	next(t, s)
	problem := func(name string, severity source.Severity, reason string) source.Problem {
		return source.Problem{Object: source.Key{Cluster: "a", Kind: source.KindService, Namespace: "shop", Name: name}, Severity: severity, Reason: reason}
	}
	report := func(problems ...source.Problem) Changes {
		s.Apply(source.Batch{Source: "a", Seen: at(2), Reports: []source.Report{{Origin: "f.yaml", Problems: problems}}})
		changes, _, _ := s.take()
		return changes
	}

	changes := report(problem("web", source.Warned, "x"), problem("pay", source.Rejected, "y"))
	if c := changes.Objects; len(c) != 2 || c[0].Name != "pay" || c[0].After != nil || c[1].After != web || c[1].Before != web || !c[1].Problems {
		t.Errorf("two problems: %+v", c)
	}
	if got := slices.Collect(s.Read().ProblemsOf(changes.Objects[0].Key)); len(got) != 1 || got[0].Reason != "y" {
		t.Errorf("problems of pay: %v", got)
	}
	if c := report(problem("web", source.Warned, "x"), problem("pay", source.Rejected, "z")).Objects; len(c) != 1 || c[0].Name != "pay" {
		t.Errorf("only pay's problem changed, but: %+v", c)
	}
	if c := report(problem("web", source.Warned, "x"), problem("pay", source.Rejected, "z")); !c.Empty() {
		t.Errorf("nothing changed, but: %+v", c)
	}
	if c := report().Objects; len(c) != 2 || len(slices.Collect(s.Read().Problems())) != 0 {
		t.Errorf("both are mended, but: %+v", c)
	}
	nameless := source.Problem{Severity: source.Rejected, Place: "f.yaml:3", Reason: "does not say what it is"}
	if c := report(nameless); !slices.Equal(c.Sources, []string{"a"}) || len(c.Objects) != 0 {
		t.Errorf("a problem without an object: %+v", c)
	}
	other := source.Problem{Object: source.Key{Cluster: "a", Kind: "Deployment"}, Severity: source.Skipped}
	if c := report(other); len(c.Objects) != 0 || !slices.Equal(c.Sources, []string{"a"}) {
		t.Errorf("a problem of another kind: %+v", c)
	}
}

func TestSourcesAreKnownBeforeTheySpeak(t *testing.T) {
	s := New("b", "a")
	var names []string
	for src := range s.Read().Sources() {
		names = append(names, src.Name)
		if src.Listed || src.Synced || !src.Empty() {
			t.Errorf("a silent source is %+v", src)
		}
	}
	if !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("sources: %v", names)
	}
	if _, ok := s.Read().Source("c"); ok {
		t.Error("an unknown source is known")
	}
}

// The questions of the compiler, each with what must and what must not be found.
func TestLookups(t *testing.T) {
	s := New("a", "b")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cert"}}
	s.Apply(put("a", 1, slice("web-1", "web"), slice("web-2", "web"), slice("webby-1", "webby"), slice("lost", ""), secret))
	s.Apply(put("b", 1, slice("web-1", "web")))
	r := s.Read()
	slicesOf := func(cluster, namespace, service string) string {
		var list []string
		for k := range r.SlicesOfService(cluster, namespace, service) {
			list = append(list, k.Cluster+"/"+k.Name)
		}
		return fmt.Sprint(list)
	}
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	expect("slices of a service", slicesOf("a", "shop", "web"), "[a/web-1 a/web-2]")
	expect("slices of a service in another cluster", slicesOf("b", "shop", "web"), "[b/web-1]")
	expect("slices in another namespace", slicesOf("a", "pay", "web"), "[]")
	if r.Secret("a", "shop", "cert") != secret || r.Secret("b", "shop", "cert") != nil || r.Secret("a", "shop", "cer") != nil {
		t.Error("a secret is not found, or where it is not")
	}
	// A row that no longer names a service is no longer found by it.
	s.Apply(put("a", 2, slice("web-2", "webby")))
	r = s.Read()
	expect("after a slice changed its service", slicesOf("a", "shop", "web"), "[a/web-1]")
	expect("where it went", slicesOf("a", "shop", "webby"), "[a/web-2 a/webby-1]")
}
