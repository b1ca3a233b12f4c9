package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/store"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Names and labels are what dashboards and alerts rely on; every state has a series, also while nothing is in it.
func TestWhatIsScraped(t *testing.T) {
	rows := store.New("home", "other")
	rows.Deliver(source.Batch{Source: "home", Full: true, State: &source.State{Listed: true, Synced: true}})
	log := changelog.New(changelog.Limits{})
	gen := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{"web": {Length: 4}}}
	head := log.Publish(snapshot.RevisionDelta{}, gen, time.Now(), time.Now())
	fleets := changelog.NewDirectory()
	fleets.Set(map[string]changelog.Fleet{"edge": {Name: "edge", Log: log}})
	nodes := node.New(time.Now)
	nodes.Connect(&fleetv1.Hello{Fleet: "edge", Node: "current", Applied: head.Marks().Proto()}, "")
	nodes.Connect(&fleetv1.Hello{Fleet: "edge", Node: "behind", Applied: wire.Marks{}.Proto()}, "")
	nodes.Connect(&fleetv1.Hello{Fleet: "nowhere", Node: "lost"}, "").Wait(node.Problem{Code: fleetv1.Code_CODE_UNKNOWN_FLEET})
	m := New(Config{Store: rows, Compiler: compile.New("home", "other"), Fleets: fleets, Nodes: nodes})
	m.Applied(fleetv1.By_BY_RUNTIME, 30*time.Millisecond)
	m.Applied(fleetv1.By_BY_RELOAD, time.Second)

	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	want := `
# HELP berth_generation Number of the fleet's newest generation.
# TYPE berth_generation gauge
berth_generation{fleet="edge"} 1
# HELP berth_nodes Nodes by state.
# TYPE berth_nodes gauge
berth_nodes{state="behind"} 1
berth_nodes{state="current"} 1
berth_nodes{state="disconnected"} 0
berth_nodes{state="failed"} 0
berth_nodes{state="rejected"} 0
berth_nodes{state="waiting"} 1
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
		"berth_generation", "berth_nodes", "berth_slots", "berth_source_synced"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(m, "berth_change_applied_seconds"); n != 2 {
		t.Errorf("%d series of applied changes, want one for runtime and one for reload", n)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
