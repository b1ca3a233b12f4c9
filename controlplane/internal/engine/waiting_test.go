package engine

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// ENG-3, while no node has come yet: what comes and goes before is not given to the first one.
func TestENG3WhatWentBeforeTheFirstNodeIsGone(t *testing.T) {
	x := restart(t, "home")
	x.reads("home", true, append(web("web", "10.0.0.1"), web("brief", "10.0.1.1")...)...)
	x.reads("home", true, web("web", "10.0.0.1")...)
	if n := len(x.engine.fleets["default"].compiled); n != 1 {
		t.Errorf("%d backends are remembered while no node comes, and there is one", n)
	}
	x.holds("a", snapshot.EmptyRevision(), snapshot.EmptyGeneration())
	x.passes(2 * time.Second)
	if f, h := x.fleet(); f.Adopting || h.Generation.Len() != 1 {
		t.Errorf("adopting %v, with the tables of %d backends", f.Adopting, h.Generation.Len())
	}
}

// ENG-4, while the fleet is frozen: neither the revision that waits nor the endpoints that wait are looked at with every change of what flows.
func TestENG4AChangeInAFrozenFleetCostsTheSame(t *testing.T) {
	cost := func(backends int) uint64 {
		var home, far []source.Object
		for i := range backends {
			home = append(home, web(fmt.Sprintf("web-%05d", i), "10.0.0.1", "10.0.0.2")...)
			far = append(far, web(fmt.Sprintf("far-%05d", i), "10.1.0.1")...)
		}
		old := before(t, map[string][]source.Object{"home": home, "other": far})
		x := restart(t, "home", "other")
		x.reads("home", true, home...)
		x.reads("other", false, far...)
		x.holds("a", old.Revision, old.Generation)
		x.passes(2 * time.Second)
		if f, _ := x.fleet(); !f.Frozen {
			t.Fatalf("the fleet is %+v", f)
		}
		move := func(pod int) {
			row := source.NewRow("home", slice("web-00005", "10.0.0.1", fmt.Sprintf("10.0.1.%d", pod)))
			x.engine.take(news{x.store.Apply(source.Batch{Source: "home", Seen: x.now, Put: []source.Row{row}}), x.store.Read()})
			x.engine.settle(x.now)
		}
		const turns = 50
		var start, end runtime.MemStats
		move(0)
		runtime.ReadMemStats(&start)
		for i := range turns {
			move(i + 1)
		}
		runtime.ReadMemStats(&end)
		if _, h := x.fleet(); !strings.Contains(slotsOf(h.Generation.Table("shop_web-00005_80")), fmt.Sprint("10.0.1.", turns)) {
			t.Fatal("the moves are not published")
		}
		return (end.TotalAlloc - start.TotalAlloc) / turns
	}
	few, many := cost(20), cost(1000)
	t.Logf("one change allocates %d bytes in 40 backends and %d in 2,000", few, many)
	if many > 3*few { // the snapshot's tree is deeper
		t.Errorf("one change allocates %d bytes in 40 backends and %d in 2,000", few, many)
	}
}

// A change that flows is as old as itself: what waits for a source that was not read does not make it look hours old.
func TestENG2WhatWaitsInAFrozenFleetIsNotInTheLatencyOfWhatFlows(t *testing.T) {
	home, far := web("web", "10.0.0.1"), web("far", "10.1.0.1")
	old := before(t, map[string][]source.Object{"home": home, "other": far})
	x := restart(t, "home", "other")
	x.reads("home", true, home...)
	x.holds("a", old.Revision, old.Generation)
	x.passes(2 * time.Second)
	x.reads("other", false, far...) // waits
	f, h := x.fleet()
	x.passes(time.Hour)
	x.reads("home", true, web("web", "10.0.0.1", "10.0.0.7")...)
	_, shared, known, err := f.Log.Since(h.Marks(), false)
	if !f.Frozen || err != nil || !known || shared == nil {
		t.Fatalf("frozen %v; the change leads to no update: known %v, %v", f.Frozen, known, err)
	}
	text, err := wire.Codec().Marshal(shared.Frame(0, 1))
	if err != nil {
		t.Fatal(err)
	}
	var m fleetv1.SyncResponse
	if err := proto.Unmarshal(text.Materialize(), &m); err != nil {
		t.Fatal(err)
	}
	if seen := m.GetUpdate().GetSeen(); seen == nil || !seen.AsTime().Equal(x.now) {
		t.Errorf("the change was seen at %v, and says %v", x.now, seen)
	}
}
