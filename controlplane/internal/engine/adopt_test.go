package engine

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/adoption"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/store"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// restarted is a plane that has started with nothing, without its loop: the test says what time it is.
type restarted struct {
	t         *testing.T
	store     *store.Store
	engine    *Engine
	now       time.Time
	conflicts int
}

func restart(t *testing.T, sources ...string) *restarted {
	t.Helper()
	x := &restarted{t: t, store: store.New(sources...), now: time.Now()}
	x.engine = New(Config{
		Store: x.store, Compiler: compile.New(sources[0], sources[1:]...), Nodes: node.New(time.Now), Fleets: changelog.NewDirectory(), Log: zerolog.Nop(),
		Conflicts: func(n int) { x.conflicts += n },
	})
	x.engine.started = x.now
	return x
}

// reads delivers a source as it has been read.
func (x *restarted) reads(cluster string, synced bool, objects ...source.Object) {
	x.delivers(source.Batch{Source: cluster, Full: true, State: &source.State{Listed: true, Synced: synced}}, objects...)
}

// delivers has a source deliver objects in a batch.
func (x *restarted) delivers(b source.Batch, objects ...source.Object) {
	b.Seen = x.now
	for _, o := range objects {
		b.Put = append(b.Put, source.NewRow(b.Source, o))
	}
	x.engine.take(news{x.store.Apply(b), x.store.Read()})
	x.engine.settle(x.now)
}

// passes lets time pass.
func (x *restarted) passes(d time.Duration) {
	x.now = x.now.Add(d)
	x.engine.settle(x.now)
}

func (x *restarted) fleet() (changelog.Fleet, *changelog.Head) {
	x.t.Helper()
	f, ok := x.engine.config.Fleets.Fleets().Get("default")
	if !ok {
		x.t.Fatal("there is no fleet")
	}
	return f, f.Log.Head()
}

// holds is a node that connects and holds this. It answers if it is asked.
func (x *restarted) holds(name string, rev *snapshot.Revision, gen *snapshot.Generation) *adoption.Holder {
	x.t.Helper()
	held := wire.MarksOf(rev, gen)
	x.engine.config.Nodes.Connect(&fleetv1.Hello{Fleet: "default", Node: name, Held: held.Proto(), Applied: held.Proto()}, "")
	f, _ := x.fleet()
	if f.Adoption == nil {
		x.engine.settle(x.now)
		return nil
	}
	h := f.Adoption.Meet(held, true, x.now)
	select {
	case <-h.Asked():
		h.Answer(told(x.t, gen), x.now)
	default:
	}
	x.engine.settle(x.now)
	return h
}

func told(t *testing.T, gen *snapshot.Generation) *wire.Positions {
	t.Helper()
	var a wire.PositionAssembler
	for _, f := range wire.PositionFrames(gen, 0) {
		if p, complete, err := a.Add(f); err != nil {
			t.Fatal(err)
		} else if complete {
			return p
		}
	}
	t.Fatal("no end")
	return nil
}

// before is what the plane before had published for these sources after some changes, which left holes.
func before(t *testing.T, objects map[string][]source.Object) *changelog.Head {
	t.Helper()
	clusters := []string{"home"}
	for name := range objects {
		if name != "home" {
			clusters = append(clusters, name)
		}
	}
	x := restart(t, clusters...)
	x.reads("home", true, web("web", "10.9.0.1", "10.9.0.2", "10.9.0.3")...)
	for name, list := range objects {
		x.reads(name, true, list...)
	}
	_, h := x.fleet()
	return h
}

// slotsOf says who is where.
func slotsOf(table *snapshot.Table) string {
	if table == nil {
		return "no table"
	}
	var list []string
	for _, s := range table.Slots {
		name := "-"
		if s.State != snapshot.Free {
			name = s.Address.String()
		}
		list = append(list, name)
	}
	return strings.Join(list, " ")
}

func TestENG6APlaneThatStartsWithNothingChangesNothing(t *testing.T) {
	objects := web("web", "10.0.0.1", "10.0.0.2")
	old := before(t, map[string][]source.Object{"home": objects})
	x := restart(t, "home")
	x.reads("home", true, objects...)
	f, h := x.fleet()
	if !f.Adopting || !h.Published() || slotsOf(h.Generation.Table("shop_web_80")) == slotsOf(old.Generation.Table("shop_web_80")) {
		t.Fatalf("before any node came: adopting %v, published %v; the history of the test leaves no trace", f.Adopting, h.Published())
	}
	x.holds("a", old.Revision, old.Generation)
	// All nodes that are there hold just what is wanted: there is nothing to wait for.
	f, h = x.fleet()
	if f.Adopting || f.Waiting != "" || f.Adoption != nil {
		t.Errorf("the plane still waits: %+v", f)
	}
	if h.Generation.Digest() != old.Generation.Digest() || h.Revision.Digest() != old.Revision.Digest() {
		t.Errorf("slots were %s and are %s", slotsOf(old.Generation.Table("shop_web_80")), slotsOf(h.Generation.Table("shop_web_80")))
	}
	if h.Generation.Version.Number <= old.Generation.Version.Number || h.Revision.Version.Number <= old.Revision.Version.Number {
		t.Errorf("numbers were %v and are %v", old.Marks(), h.Marks())
	}
}

func TestENG6OnlySlotsOfThoseThatCameOrWentChange(t *testing.T) {
	old := before(t, map[string][]source.Object{"home": append(web("web", "10.0.0.1", "10.0.0.2", "10.0.0.3"), web("other", "10.0.1.1")...)})
	x := restart(t, "home")
	x.reads("home", true, append(web("web", "10.0.0.1", "10.0.0.3", "10.0.0.4"), web("other", "10.0.1.1")...)...)
	x.holds("a", old.Revision, old.Generation)
	if f, _ := x.fleet(); !f.Adopting {
		t.Fatal("what is wanted is not what nodes hold, and the plane waits for no other node")
	}
	x.passes(2 * time.Second)
	f, h := x.fleet()
	if f.Adopting {
		t.Fatal("the plane waits on")
	}
	if other := h.Generation.Table("shop_other_80"); other.Digest() != old.Generation.Table("shop_other_80").Digest() {
		t.Errorf("a backend that did not change: %s", slotsOf(other))
	}
	was, is := old.Generation.Table("shop_web_80").Slots, h.Generation.Table("shop_web_80").Slots
	for i := range was {
		switch a := was[i].Address.String(); {
		case a == "10.0.0.2" && is[i].State != snapshot.Free:
			t.Errorf("the slot of a pod that went is taken: %+v", is[i])
		case a == "10.0.0.2" && is[i].Since <= old.Generation.Version.Number:
			t.Errorf("it counts as free since %d; it is %s", is[i].Since, h.Generation.Version)
		case (a == "10.0.0.1" || a == "10.0.0.3") && is[i] != was[i]:
			t.Errorf("slot %d was %+v and is %+v", i+1, was[i], is[i])
		}
	}
	if !strings.Contains(slotsOf(h.Generation.Table("shop_web_80")), "10.0.0.4") {
		t.Error("the pod that came has no slot")
	}
}

func TestENG6OfTwoNodesTheNewerTableCountsAndALateOneMovesNobody(t *testing.T) {
	objects := web("web", "10.0.0.1", "10.0.0.2")
	old := before(t, map[string][]source.Object{"home": objects})
	table := old.Generation.Table("shop_web_80")
	// turned is the same table at another version with its slots the other way round.
	turned := func(number uint64) *snapshot.Generation {
		s := slices.Clone(table.Slots)
		slices.Reverse(s)
		d, _ := snapshot.DiffTables(nil, &snapshot.Table{Backend: table.Backend, Slots: s, Version: snapshot.Version{Epoch: 1, Number: number}})
		return snapshot.EmptyGeneration().Apply(snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{table.Backend: d}}, snapshot.Version{Epoch: 1, Number: number})
	}
	lower := table
	if x, y := turned(90).Table(table.Backend).Digest(), table.Digest(); bytes.Compare(x[:], y[:]) < 0 {
		lower = turned(90).Table(table.Backend)
	}
	for _, c := range []struct {
		name      string
		turned    *snapshot.Generation
		late      bool
		want      *snapshot.Table
		conflicts int
	}{
		{"newer", turned(90), false, turned(90).Table(table.Backend), 0},
		{"older", turned(1), false, table, 0},
		{"as new", turned(table.Version.Number), false, lower, 1},
		{"newer and late", turned(90), true, table, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := restart(t, "home")
			x.reads("home", true, append(objects, ingress("more", "web"))...) // other routes, so that nobody holds just what is wanted
			x.holds("b", old.Revision, old.Generation)
			if c.late {
				x.passes(2 * time.Second)
			}
			x.holds("a", old.Revision, c.turned)
			x.passes(2 * time.Second)
			f, h := x.fleet()
			if got := h.Generation.Table(table.Backend); f.Adopting || slotsOf(got) != slotsOf(c.want) {
				t.Errorf("adopting %v; adopted %s, want %s", f.Adopting, slotsOf(got), slotsOf(c.want))
			}
			if x.conflicts != c.conflicts {
				t.Errorf("%d conflicts, want %d", x.conflicts, c.conflicts)
			}
		})
	}
}

// A first install is not held up for long, and by nobody who has something to tell.
func TestENG6NodesThatHoldNothingAreServedAfterTwoSeconds(t *testing.T) {
	x := restart(t, "home")
	x.reads("home", true, web("web", "10.0.0.1")...)
	x.passes(time.Minute)
	x.holds("a", snapshot.EmptyRevision(), snapshot.EmptyGeneration())
	x.passes(1900 * time.Millisecond)
	if f, _ := x.fleet(); !f.Adopting {
		t.Error("nobody else was waited for")
	}
	x.passes(100 * time.Millisecond)
	if f, _ := x.fleet(); f.Adopting {
		t.Error("it is waited on")
	}
}

// ENG-2, by source: what was not read stays, what was read flows, and nothing has changed when all is read.
func TestENG2AFrozenFleetGetsWhatWasRead(t *testing.T) {
	far := web("far", "10.1.0.1", "10.1.0.2")
	old := before(t, map[string][]source.Object{"home": web("web", "10.0.0.1", "10.0.0.2"), "other": far})
	for _, c := range []struct {
		name   string
		before func(x *restarted)
		reason string
	}{
		{"not read", func(*restarted) {}, "source other has not been read"},
		{"read in part", func(x *restarted) { x.reads("other", false, web("far", "10.1.0.1")...) }, "source other has not been read"},
		{"empty", func(x *restarted) { x.reads("other", true) }, "source other has no object"},
		{"empty, and then in part", func(x *restarted) {
			x.reads("other", true)
			state := source.State{Listed: true, Synced: true, StaleSince: x.now, Error: "b.yaml cannot be read"}
			x.delivers(source.Batch{Source: "other", State: &state}, service("far"), slice("far", "10.1.0.1")) // and its routes are in that file
		}, "source other has not been read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := restart(t, "home", "other")
			x.reads("home", true, web("web", "10.0.0.1", "10.0.0.3")...)
			c.before(x)
			x.passes(time.Minute) // what is readable may be shown by now
			x.holds("a", old.Revision, old.Generation)
			x.passes(2 * time.Second)
			f, h := x.fleet()
			if f.Adopting || !f.Frozen || !strings.Contains(f.Waiting, c.reason) {
				t.Fatalf("the fleet is %+v", f)
			}
			if h.Revision.Len() != 0 || h.Generation.Table("other.shop_far_80") != nil {
				t.Errorf("published of what was not read: %d resources, %s", h.Revision.Len(), slotsOf(h.Generation.Table("other.shop_far_80")))
			}
			table := h.Generation.Table("shop_web_80")
			if want := strings.Replace(slotsOf(old.Generation.Table("shop_web_80")), "10.0.0.2", "-", 1); table == nil ||
				strings.Replace(slotsOf(table), "10.0.0.3", "-", 1) != want {
				t.Fatalf("of what was read: %s, was %s", slotsOf(table), slotsOf(old.Generation.Table("shop_web_80")))
			}
			x.reads("home", true, web("web", "10.0.0.1", "10.0.0.2")...)
			_, h = x.fleet()
			if !strings.Contains(slotsOf(h.Generation.Table("shop_web_80")), "10.0.0.2") {
				t.Error("endpoints of the source that was read do not flow")
			}
			x.reads("other", true, far...)
			f, h = x.fleet()
			if f.Frozen || f.Adopting || f.Waiting != "" || f.Adoption != nil {
				t.Errorf("all is read, and the fleet is %+v", f)
			}
			if h.Revision.Digest() != old.Revision.Digest() {
				t.Error("the revision is another")
			}
			if got, was := h.Generation.Table("other.shop_far_80"), old.Generation.Table("other.shop_far_80"); got == nil || got.Digest() != was.Digest() {
				t.Errorf("what was kept is %s, was %s", slotsOf(got), slotsOf(was))
			}
		})
	}
}

// An operator who says that the empty source is meant to be empty is believed.
func TestENG2AnEmptySourceThatIsForgottenIsEmpty(t *testing.T) {
	old := before(t, map[string][]source.Object{"home": web("web", "10.0.0.1"), "other": web("far", "10.1.0.1")})
	x := restart(t, "home", "other")
	x.reads("home", true, web("web", "10.0.0.1")...)
	x.reads("other", true)
	x.holds("a", old.Revision, old.Generation)
	x.passes(2 * time.Second)
	if f, _ := x.fleet(); !f.Frozen {
		t.Fatalf("the fleet is %+v", f)
	}
	b := source.Batch{Source: "other", Seen: x.now, State: &source.State{Listed: true, Synced: true, Forgotten: x.now}}
	x.engine.take(news{x.store.Apply(b), x.store.Read()})
	x.engine.settle(x.now)
	f, h := x.fleet()
	if f.Frozen || h.Revision.Backend("other.shop_far_80") != nil || h.Revision.Backend("shop_web_80") == nil {
		t.Errorf("forgotten, and the fleet is %+v", f)
	}
}

func TestSourceOfABackend(t *testing.T) {
	e := New(Config{Compiler: compile.New("home", "east", "east.1")})
	e.sources = []string{"east", "east.1", "home"}
	for backend, want := range map[string]string{
		"shop_web_80": "home", "east.shop_web_80": "east", "east.1.shop_web_80": "east.1", "gone.shop_web_80": "", "eastern.shop_web_80": "",
	} {
		if got := e.sourceOf(backend); got != want {
			t.Errorf("%s is of source %q, want %q", backend, got, want)
		}
	}
}
