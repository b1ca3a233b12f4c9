package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/guard"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/source/manifest"
	"github.com/berth-proxy/berth/controlplane/internal/store"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// objects are a fleet, and an Ingress of it whose service is missing.
const objects = `
apiVersion: berth.dev/v1alpha1
kind: Fleet
metadata: {name: edge}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: lost, namespace: shop}
spec:
  ingressClassName: berth
  defaultBackend: {service: {name: gone, port: {number: 80}}}
`

// Names and labels are what dashboards and alerts rely on; every state has a series, also while nothing is in it.
func TestWhatIsScraped(t *testing.T) {
	rows := store.New("home", "other")
	compiler := compile.New("home", "other")
	docs, err := manifest.Parse("a.yaml", []byte(objects))
	if err != nil {
		t.Fatal(err)
	}
	batch := source.Batch{Source: "home", Full: true, State: &source.State{Listed: true, Synced: true}}
	for _, d := range docs {
		batch.Put = append(batch.Put, source.NewRow("home", d.Object))
	}
	compiler.Compile(rows.Read(), rows.Apply(batch))
	state := source.State{StaleSince: time.Now().Add(-time.Hour), Error: "no such directory"}
	compiler.Compile(rows.Read(), rows.Apply(source.Batch{Source: "other", State: &state}))
	log := changelog.New(changelog.Limits{})
	gen := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{"web": {Length: 4}}}
	head := log.Publish(snapshot.RevisionDelta{}, gen, time.Now(), time.Now())
	fleets := changelog.NewDirectory()
	fleets.Set(map[string]changelog.Fleet{"edge": {Name: "edge", Log: log}})
	nodes := node.New(time.Now)
	nodes.Connect(&fleetv1.Hello{Fleet: "edge", Node: "current", Applied: head.Marks().Proto()}, "")
	nodes.Connect(&fleetv1.Hello{Fleet: "edge", Node: "behind", Applied: wire.Marks{}.Proto()}, "")
	nodes.Connect(&fleetv1.Hello{Fleet: "nowhere", Node: "lost"}, "").Wait(node.Problem{Code: fleetv1.Code_CODE_UNKNOWN_FLEET})
	held := guard.New(guard.Config{Store: rows, Compiler: compiler, Log: zerolog.Nop()})
	m := New(Config{Store: rows, Compiler: compiler, Fleets: fleets, Nodes: nodes, Guard: held})
	m.Applied(fleetv1.By_BY_RUNTIME, 30*time.Millisecond)
	m.Applied(fleetv1.By_BY_RELOAD, time.Second)

	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	want := `
# HELP berth_generation Number of the fleet's newest generation.
# TYPE berth_generation gauge
berth_generation{fleet="edge"} 1
# HELP berth_guard_held_objects Objects that vanished from the source in one step and whose removal is held back.
# TYPE berth_guard_held_objects gauge
berth_guard_held_objects{source="home"} 0
berth_guard_held_objects{source="other"} 0
# HELP berth_nodes Nodes by state.
# TYPE berth_nodes gauge
berth_nodes{state="behind"} 1
berth_nodes{state="current"} 1
berth_nodes{state="disconnected"} 0
berth_nodes{state="failed"} 0
berth_nodes{state="rejected"} 0
berth_nodes{state="waiting"} 1
# HELP berth_objects Objects that are read, by state; rejected are also those that a source could not take.
# TYPE berth_objects gauge
berth_objects{state="accepted"} 1
berth_objects{state="rejected"} 0
berth_objects{state="warned"} 1
# HELP berth_slots Slots of all fleets by state.
# TYPE berth_slots gauge
berth_slots{state="drain"} 0
berth_slots{state="free"} 4
berth_slots{state="ready"} 0
# HELP berth_source_synced 1 when the source has been read in full since the plane started.
# TYPE berth_source_synced gauge
berth_source_synced{source="home"} 1
berth_source_synced{source="other"} 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want),
		"berth_generation", "berth_guard_held_objects", "berth_nodes", "berth_objects", "berth_slots", "berth_source_synced"); err != nil {
		t.Error(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	stale := map[string]float64{}
	for _, f := range families {
		for _, x := range f.GetMetric() {
			if f.GetName() == "berth_source_stale_seconds" {
				stale[x.GetLabel()[0].GetValue()] = x.GetGauge().GetValue()
			}
		}
	}
	if stale["home"] != 0 || stale["other"] < 3600 || stale["other"] > 3700 {
		t.Errorf("stale for %v seconds", stale)
	}
	if n := testutil.CollectAndCount(m, "berth_change_applied_seconds"); n != 2 {
		t.Errorf("%d series of applied changes, want one for runtime and one for reload", n)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
