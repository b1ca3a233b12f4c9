package plan_test

import (
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
)

func revision(resources ...snapshot.Resource) *snapshot.Revision {
	d := snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{}}
	for _, r := range resources {
		d.Changes[r.Key()] = r
	}
	return snapshot.EmptyRevision().Apply(d, snapshot.Version{Epoch: 1, Number: 1})
}

func TestWhatAWorkerTakesAtRunTimeAndWhatCostsAReload(t *testing.T) {
	has := revision(
		&snapshot.Section{Type: "frontend", Name: "web", Lines: []snapshot.Line{{"mode", "http"}}},
		&snapshot.Backend{Name: "b"}, &snapshot.Map{Name: "hosts"}, &snapshot.MapEntry{Map: "hosts", Name: "a", Value: "1"},
		&snapshot.Certificate{Name: "c", Content: snapshot.PEMDigest([]byte("x"))},
	)
	for _, test := range []struct {
		name string
		want *snapshot.Revision
		is   plan.Reason
		maps int
	}{
		{"nothing", has, plan.None, 0},
		{"a map entry", has.Apply(delta(&snapshot.MapEntry{Map: "hosts", Name: "b", Value: "1"}), has.Version), plan.None, 1},
		{"a backend", has.Apply(delta(&snapshot.Backend{Name: "b2"}), has.Version), plan.Backend, 0},
		{"a section", has.Apply(delta(&snapshot.Section{Type: "frontend", Name: "web"}), has.Version), plan.Section, 0},
		{"a certificate's content", has.Apply(delta(&snapshot.Certificate{Name: "c"}), has.Version), plan.Certificate, 0},
		{"a new map", has.Apply(delta(&snapshot.Map{Name: "paths"}), has.Version), plan.Map, 0},
		{"a backend goes, and an entry", has.Apply(snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{
			{Kind: snapshot.KindBackend, Name: "b"}: nil, snapshot.EntryKey("hosts", "a"): nil,
		}}, has.Version), plan.Backend, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			reason, maps := plan.Revision(has, snapshot.DiffRevisions(has, test.want))
			if reason != test.is || len(maps) != test.maps {
				t.Errorf("reason %v, %d map changes; want %v, %d", reason, len(maps), test.is, test.maps)
			}
		})
	}
}

func TestAChangeThatWasTakenBackCostsNothing(t *testing.T) {
	b := &snapshot.Backend{Name: "b", Lines: []snapshot.Line{{"balance", "roundrobin"}}}
	same := *b
	if reason, maps := plan.Revision(revision(b), delta(&same)); reason != plan.None || len(maps) != 0 {
		t.Errorf("reason %v, maps %v", reason, maps)
	}
}

func delta(r snapshot.Resource) snapshot.RevisionDelta {
	return snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{r.Key(): r}}
}

func TestPLAN1_MapCommandsGiveTheTarget(t *testing.T) {
	entries := rapid.MapOf(rapid.SampledFrom([]string{"a/", "b/", "b/c/", "d/"}), rapid.SampledFrom([]string{"x", "y"}))
	rapid.Check(t, func(t *rapid.T) {
		has, want := entries.Draw(t, "has"), entries.Draw(t, "want")
		build := func(m map[string]string) *snapshot.Revision {
			resources := []snapshot.Resource{&snapshot.Map{Name: "prefix"}}
			for k, v := range m {
				resources = append(resources, &snapshot.MapEntry{Map: "prefix", Name: k, Value: v})
			}
			return revision(resources...)
		}
		a := build(has)
		_, changes := plan.Revision(a, snapshot.DiffRevisions(a, build(want)))
		w := newWorker()
		w.maps["maps/prefix.map"] = maps.Clone(has)
		gone := false
		for _, c := range plan.MapCommands(changes) {
			if strings.HasPrefix(c.Line, "del ") {
				gone = true
			} else if gone {
				t.Fatalf("%q comes after a removal", c.Line)
			}
			if err := w.run(c.Line); err != nil {
				t.Fatal(err)
			}
		}
		if !maps.Equal(w.maps["maps/prefix.map"], want) {
			t.Fatalf("map is %v, want %v", w.maps["maps/prefix.map"], want)
		}
	})
}
