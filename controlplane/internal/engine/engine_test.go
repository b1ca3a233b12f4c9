package engine

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/adoption"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	"github.com/berth-proxy/berth/controlplane/internal/slots"
	"github.com/berth-proxy/berth/controlplane/internal/store"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

const never = time.Hour

func TestENG1WhatIsWantedIsPublished(t *testing.T) {
	r := start(t, never, "home")
	r.synced("home", web("web", "10.0.0.1", "10.0.0.2")...)
	h := r.seats("the first publication", "shop_web_80", "10.0.0.1", "10.0.0.2")
	if h.Revision.Backend("shop_web_80") == nil || h.RevisionTime.IsZero() {
		t.Errorf("the revision has no backend: %v", slices.Collect(h.Revision.All()))
	}
	seen := time.Now()
	r.put("home", slice("web", "10.0.0.1", "10.0.0.2", "10.0.0.3"))
	next := r.seats("a pod more", "shop_web_80", "10.0.0.1", "10.0.0.2", "10.0.0.3")
	if next.Revision != h.Revision || next.Generation.Version.Number != h.Generation.Version.Number+1 {
		t.Errorf("a pod more led from %+v to %+v", h.Marks(), next.Marks())
	}
	f, _ := r.fleets.Fleets().Get("default")
	_, shared, _, err := f.Log.Since(h.Marks(), true)
	if err != nil || shared.Len() != 1 || shared.Size() > 400 {
		t.Errorf("one slot is %d frames of %d bytes, %v", shared.Len(), shared.Size(), err)
	}
	if next.GenerationTime.Before(seen) {
		t.Errorf("published at %v, before it was seen at %v", next.GenerationTime, seen)
	}
	r.put("home", slice("web", "10.0.0.1", "10.0.0.2", "10.0.0.3"), service("web"))
	r.put("home", slice("web"))
	r.seats("no pod", "shop_web_80")
}

func TestENG1SeveralFleets(t *testing.T) {
	r := start(t, never, "home")
	r.synced("home", append(web("web", "10.0.0.1"), fleetObject("edge", "berth"), fleetObject("core", "other"))...)
	edge := r.fleet("edge", "published", published)
	core := r.fleet("core", "published", published)
	if edge.Generation.Len() != 1 || core.Generation.Len() != 0 {
		t.Errorf("edge has %d tables and core %d, want 1 and none", edge.Generation.Len(), core.Generation.Len())
	}
	if _, exists := r.fleets.Fleets().Get("default"); exists {
		t.Error("there is a fleet default beside those that are written")
	}
	r.gone("home", fleetObject("core"))
	for fleets := r.fleets.Fleets(); ; fleets = r.fleets.Fleets() {
		if _, exists := fleets.Get("core"); !exists {
			break
		}
		<-fleets.Superseded()
	}
}

// connect is a node that says what it holds.
func (r *rig) connect(name string, held wire.Marks) *node.Session {
	if f, ok := r.fleets.Fleets().Get("default"); ok && f.Adoption != nil {
		f.Adoption.Meet(held, true, time.Now())
	}
	return r.nodes.Connect(&fleetv1.Hello{Fleet: "default", Node: name, Held: held.Proto(), Applied: held.Proto()}, "")
}

func applied(m wire.Marks) *fleetv1.Applied { return &fleetv1.Applied{Applied: m.Proto()} }

var foreign = wire.Marks{Revision: wire.Mark{Version: snapshot.Version{Epoch: 3, Number: 9}, Digest: snapshot.PEMDigest([]byte("foreign"))}}

// The engine without its loop, so that the test says what time it is.
func TestENG2NothingIsTakenFromANodeWhileASourceIsMissing(t *testing.T) {
	r := &rig{t: t, store: store.New("home", "other"), nodes: node.New(time.Now), fleets: changelog.NewDirectory()}
	e := New(Config{Store: r.store, Compiler: compile.New("home", "other"), Nodes: r.nodes, Fleets: r.fleets, Log: zerolog.Nop()})
	e.started = time.Now()
	settle := func(after time.Duration) (changelog.Fleet, *changelog.Head) {
		t.Helper()
		changes, read, err := r.store.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		e.take(news{changes, read})
		e.settle(e.started.Add(after))
		f, _ := r.fleets.Fleets().Get("default")
		return f, f.Log.Head()
	}
	s := r.connect("a", foreign)
	s.Close()

	r.synced("home", web("web", "10.0.0.1")...)
	if f, h := settle(time.Hour); h.Published() || !strings.Contains(f.Waiting, "source other") {
		t.Fatalf("published without source other: %v, %q", h.Published(), f.Waiting)
	}
	r.broken("other", web("shop", "10.1.0.1")...)
	if f, h := settle(2 * time.Hour); h.Published() || f.Waiting == "" {
		t.Fatal("published although source other could be read in part only")
	}
	r.synced("other", web("shop", "10.1.0.1")...)
	f, h := settle(3 * time.Hour)
	if !h.Published() || f.Waiting != "" {
		t.Fatalf("every source was read: published %v, %q", h.Published(), f.Waiting)
	}
	for backend, address := range map[string]string{"shop_web_80": "10.0.0.1", "other.shop_shop_80": "10.1.0.1"} {
		if got := addresses(h.Generation.Table(backend)); !slices.Equal(got, []string{address}) {
			t.Errorf("%s holds %v", backend, got)
		}
	}
}

func TestENG2AFirstInstallIsServedWithWhatCanBeRead(t *testing.T) {
	r := start(t, 50*time.Millisecond, "home", "other")
	began := time.Now()
	r.synced("home", web("web", "10.0.0.1")...)
	r.connect("fresh", wire.Marks{})
	h := r.seats("what can be read", "shop_web_80", "10.0.0.1")
	if time.Since(began) < 50*time.Millisecond {
		t.Error("published before the grace was over")
	}
	r.connect("fresh", wire.Marks{})
	r.fleet("default", "nobody has anything to tell", func(f changelog.Fleet, _ *changelog.Head) bool { return !f.Adopting })
	// A node comes that holds a revision: routes freeze, endpoints flow.
	s := r.connect("old", foreign)
	r.fleet("default", "frozen", func(f changelog.Fleet, _ *changelog.Head) bool { return f.Waiting != "" })
	r.put("home", append(web("more", "10.0.1.1"), slice("web", "10.0.0.1", "10.0.0.2"))...)
	next := r.seats("endpoints flow", "shop_web_80", "10.0.0.1", "10.0.0.2")
	if next.Revision.Digest() != h.Revision.Digest() {
		t.Error("the revision changed while the fleet is frozen")
	}
	// It is given what there is by hand, or it goes: the freeze is over.
	s.Received(&fleetv1.Received{Held: next.Marks().Proto()})
	s.Applied(applied(next.Marks()), 0)
	thawed := r.fleet("default", "no node is foreign", func(_ changelog.Fleet, h *changelog.Head) bool { return h.Revision.Backend("shop_more_80") != nil })
	if got := addresses(thawed.Generation.Table("shop_more_80")); !slices.Equal(got, []string{"10.0.1.1"}) {
		t.Errorf("the new backend holds %v", got)
	}
	r.synced("other")
	r.fleet("default", "complete", func(f changelog.Fleet, _ *changelog.Head) bool { return f.Waiting == "" })
}

func TestENG2AnEmptySourceIsEnoughToPublish(t *testing.T) {
	r := start(t, never, "home")
	r.synced("home")
	h := r.fleet("default", "published", published)
	if h.Marks().Generation.Version.IsZero() {
		t.Error("the generation has no version, so a node with tables would keep them")
	}
}

// What a frozen fleet keeps back does not make the endpoints that flow look old.
func TestENG2EndpointsThatFlowHaveTheirOwnTime(t *testing.T) {
	at := func(n int64) time.Time { return time.Unix(n, 0).UTC() }
	e := New(Config{Log: zerolog.Nop()})
	f := newFleet("default", changelog.New(changelog.Limits{}), adoption.New(adoption.Timing{}, func() {}))
	endpoints := func(seen int64, addresses ...string) {
		b := compile.Backend{}
		for _, a := range addresses {
			b.Endpoints = append(b.Endpoints, slots.Endpoint{Name: a, Address: netip.MustParseAddr(a), Port: 80, State: snapshot.Ready})
		}
		f.note(compile.FleetChange{Seen: at(seen), Endpoints: map[string]compile.Backend{"web": b}})
	}
	backend := &snapshot.Backend{Name: "web"}
	f.note(compile.FleetChange{Seen: at(1), Revision: snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{backend.Key(): backend}}})
	seenSince := func(held *changelog.Head, withRevision bool) time.Time {
		t.Helper()
		e.publish(f, withRevision, at(9))
		_, shared, _, err := f.log.Since(held.Marks(), true)
		if err != nil {
			t.Fatal(err)
		}
		bytes, err := wire.Codec().Marshal(shared.Frame(0, 1))
		m := &fleetv1.SyncResponse{}
		if err := errors.Join(err, proto.Unmarshal(bytes.Materialize(), m)); err != nil {
			t.Fatal(err)
		}
		return m.GetUpdate().GetSeen().AsTime()
	}
	for _, n := range []int64{3, 5} {
		endpoints(n, fmt.Sprintf("10.0.0.%d", n))
		if got := seenSince(f.log.Head(), false); !got.Equal(at(n)) {
			t.Errorf("endpoints that were seen to change at %v are published as seen at %v", at(n), got)
		}
	}
	endpoints(7, "10.0.0.7")
	if got := seenSince(f.log.Head(), true); !got.Equal(at(1)) {
		t.Errorf("with the revision that was kept back, seen is %v, want %v", got, at(1))
	}
}

// A volume that is not mounted is an empty directory, which can be read in full. Nodes that served something before the plane started keep it.
func TestENG2APlaneThatFindsNothingTakesNothing(t *testing.T) {
	r := start(t, never, "home", "other")
	r.connect("a", foreign)
	r.synced("home")
	r.synced("other")
	r.fleet("default", "waits", func(f changelog.Fleet, h *changelog.Head) bool {
		return !h.Published() && strings.Contains(f.Waiting, "no source has an object")
	})
	r.put("other", web("web", "10.0.0.1")...)
	h := r.seats("an object is enough", "other.shop_web_80", "10.0.0.1")
	s := r.connect("a", foreign)
	r.fleet("default", "complete", func(f changelog.Fleet, _ *changelog.Head) bool { return f.Waiting == "" && !f.Adopting })
	// What is taken away under the plane's eyes goes.
	s.Received(&fleetv1.Received{Held: h.Marks().Proto()})
	s.Applied(applied(h.Marks()), 0)
	r.gone("other", web("web", "10.0.0.1")...)
	r.fleet("default", "all objects went", func(_ changelog.Fleet, h *changelog.Head) bool { return h.Revision.Backend("other.shop_web_80") == nil })
}

func TestENG3ARetiredBackendStaysUntilNoNodeHasIt(t *testing.T) {
	r := start(t, never, "home")
	r.synced("home", append(web("web", "10.0.0.1"), web("old", "10.0.1.1")...)...)
	first := r.seats("both", "shop_old_80", "10.0.1.1")
	s := r.connect("a", first.Marks())
	away := r.connect("b", first.Marks())
	away.Close()

	r.gone("home", ingress("old", "old"))
	h := r.fleet("default", "the route went", func(_ changelog.Fleet, h *changelog.Head) bool { return h.Revision.Backend("shop_old_80") == nil })
	if h.Generation.Table("shop_old_80") == nil {
		t.Fatal("the table went with the route, while two nodes have the backend")
	}
	r.put("home", slice("old", "10.0.1.2"))
	r.seats("its pods are followed", "shop_old_80", "10.0.1.2")
	s.Received(&fleetv1.Received{Held: h.Marks().Proto()})
	r.put("home", slice("old", "10.0.1.3"))
	r.seats("received is not applied", "shop_old_80", "10.0.1.3")
	s.Applied(applied(h.Marks()), 0)
	r.put("home", slice("old", "10.0.1.4"))
	r.seats("a node that is away for a moment counts", "shop_old_80", "10.0.1.4")
	r.connect("b", h.Marks())
	r.seats("nobody has it", "shop_old_80", "no table")
	// It comes back, and is a new backend.
	r.put("home", ingress("old", "old"))
	r.seats("back", "shop_old_80", "10.0.1.4")
}

func TestENG3ARetiredBackendThatComesBackKeepsItsSlots(t *testing.T) {
	r := start(t, never, "home")
	r.synced("home", append(web("web", "10.0.0.1"), web("old", "10.0.1.1", "10.0.1.2")...)...)
	first := r.seats("both", "shop_old_80", "10.0.1.1", "10.0.1.2")
	r.connect("a", first.Marks())
	r.gone("home", ingress("old", "old"))
	h := r.fleet("default", "the route went", func(_ changelog.Fleet, h *changelog.Head) bool { return h.Revision.Backend("shop_old_80") == nil })
	r.put("home", slice("old", "10.0.1.2"))
	r.seats("a pod went", "shop_old_80", "10.0.1.2")
	r.put("home", ingress("old", "old"))
	back := r.fleet("default", "the route is back", func(_ changelog.Fleet, h *changelog.Head) bool { return h.Revision.Backend("shop_old_80") != nil })
	if s := back.Generation.Table("shop_old_80").Slots[1]; s.Address.String() != "10.0.1.2" {
		t.Errorf("slot 2 holds %+v", s)
	}
	// And nobody takes it for retired when nodes move on.
	s := r.connect("a", h.Marks())
	s.Applied(applied(back.Marks()), 0)
	r.put("home", slice("web", "10.0.0.9"))
	last := r.seats("the next change", "shop_web_80", "10.0.0.9")
	if last.Generation.Table("shop_old_80") == nil {
		t.Error("the table of a backend that is back is gone")
	}
}

func TestENG5TablesShrinkWithAReload(t *testing.T) {
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf("10.0.2.%d", i)
	}
	length := func(h *changelog.Head) int { return len(h.Generation.Table("shop_web_80").Slots) }
	r := start(t, never, "home")
	r.synced("home", web("web", many...)...)
	if got := length(r.fleet("default", "published", published)); got != 64 {
		t.Fatalf("40 endpoints have %d slots", got)
	}
	r.put("home", slice("web", "10.0.2.0"))
	if got := length(r.seats("one is left", "shop_web_80", "10.0.2.0")); got != 64 {
		t.Errorf("without a reload the table has %d slots", got)
	}
	r.put("home", ingress("second", "web"))
	h := r.fleet("default", "a route", func(_ changelog.Fleet, h *changelog.Head) bool {
		return h.Revision.Get(snapshot.EntryKey("hosts", "second.example.com")) != nil
	})
	if got := length(h); got != 64 {
		t.Errorf("map entries alone, and the table has %d slots", got)
	}
	r.put("home", web("other", "10.0.3.1")...)
	h = r.fleet("default", "a backend", func(_ changelog.Fleet, h *changelog.Head) bool { return h.Revision.Backend("shop_other_80") != nil })
	if got := length(h); got != 4 {
		t.Errorf("with a reload the table has %d slots, want 4", got)
	}
}
