package stream

import (
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/adoption"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// A plane that has started with nothing asks one of those that hold the same, and sends nothing until it knows (STREAM-10).

// adopts makes the fleet edge one that learns.
func (p *plane) adopts() *adoption.Fleet {
	a := adoption.New(adoption.Timing{Wait: time.Hour}, func() {})
	p.fleets.Set(map[string]changelog.Fleet{"edge": {Name: "edge", Log: p.log, Adopting: true, Adoption: a}})
	return a
}

// adopted ends the learning.
func (p *plane) adopted() {
	p.fleets.Set(map[string]changelog.Fleet{"edge": {Name: "edge", Log: p.log}})
}

func named(name string) func(*fleetv1.Hello) { return func(h *fleetv1.Hello) { h.Node = name } }

// asked reads the question for positions.
func (c *client) asked() {
	c.t.Helper()
	if m := c.next(); m.GetAskPositions() == nil {
		c.t.Fatalf("not asked for positions, but %v", m)
	}
}

// tells answers it.
func (c *client) tells(frames ...*fleetv1.Positions) {
	c.t.Helper()
	if frames == nil {
		frames = wire.PositionFrames(c.gen, 100)
	}
	for _, f := range frames {
		c.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Positions{Positions: f}})
	}
}

// serving is what a node may hold of another plane: a revision with the backends home and far, and their tables.
func serving() state {
	rev := snapshot.EmptyRevision().Apply(revision("home", "roundrobin").Merge(revision("far", "roundrobin")), snapshot.Version{Epoch: 3, Number: 8})
	gen := snapshot.EmptyGeneration().Apply(generation("home", 3, 1).Merge(generation("far", 5, 2)), snapshot.Version{Epoch: 3, Number: 21})
	return state{rev, gen}
}

func TestOneOfThoseThatHoldTheSameIsAsked(t *testing.T) {
	p := startPlane(t, quick)
	a := p.adopts()
	first := p.connect(serving(), named("a"))
	if w := first.welcome(); w.GetWaiting() != fleetv1.Code_CODE_ADOPTING || w.GetMessage() == "" || w.GetEpoch() <= 3 {
		t.Errorf("welcome: %v", w)
	}
	first.asked()
	p.view("waiting", waits(fleetv1.Code_CODE_ADOPTING))
	second := p.connect(serving(), named("b"))
	second.welcome()
	second.quiet()
	third := p.connect(serving(), named("c"))
	third.welcome()
	third.quiet()
	p.revise("home", "leastconn")
	first.quiet() // whatever is published

	// The one that was asked leaves in the middle of its answer.
	first.tells(wire.PositionFrames(first.gen, 1)[:1]...)
	first.cancel()
	second.asked()
	second.tells()
	deadline := time.After(patience)
	for len(a.Told().Backends()) != 2 {
		select {
		case <-deadline:
			t.Fatal("the answer does not arrive")
		case <-time.After(time.Millisecond):
		}
	}
	if table := a.Told().Table("far", 4); table.Slots[5].Endpoint != "shop/pod-2" || len(table.Slots) != 8 {
		t.Errorf("told: %+v", table)
	}
	third.quiet()
	p.adopted()
	if third.next().GetAskBuckets() == nil {
		t.Error("what differs is not sent once the plane knows")
	}
}

// STREAM-7: what a node tells wrongly ends its stream; what it does not tell holds up nobody.
func TestLiesAboutPositionsEndTheStream(t *testing.T) {
	gen := serving().gen
	frames := func(change func([]*fleetv1.Positions) []*fleetv1.Positions) []*fleetv1.Positions {
		return change(wire.PositionFrames(gen, 0))
	}
	var endless []*fleetv1.Positions
	for i := range uint32(wire.MaxPositionFrames + 1) {
		endless = append(endless, &fleetv1.Positions{Frame: i})
	}
	endless[0].Generation = wire.MarksOf(nil, gen).Generation.Proto()
	var slots []*fleetv1.SlotPosition
	for i := range uint32(snapshot.MaxSlots) {
		slots = append(slots, &fleetv1.SlotPosition{Slot: i + 1, Since: 1})
	}
	for name, tells := range map[string][]*fleetv1.Positions{
		"another sum": frames(func(f []*fleetv1.Positions) []*fleetv1.Positions {
			f[0].Tables = f[0].GetTables()[1:]
			return f
		}),
		"another generation": wire.PositionFrames(gen.Apply(snapshot.GenerationDelta{}, snapshot.Version{Epoch: 3, Number: 20}), 0),
		"no end":             endless,
		"a million slots": frames(func(f []*fleetv1.Positions) []*fleetv1.Positions {
			f[0].Last = false
			for i := range 17 {
				f = append(f, &fleetv1.Positions{Frame: uint32(i + 1), Tables: []*fleetv1.TablePositions{{
					Backend: fmt.Sprint("b", i), Length: snapshot.MaxSlots, Digest: f[0].GetTables()[0].GetDigest(), Slots: slots,
				}}})
			}
			return f
		}),
		"a version beyond counting": frames(func(f []*fleetv1.Positions) []*fleetv1.Positions {
			f[0].GetTables()[0].Version = &fleetv1.Version{Epoch: 3, Number: maxNumber + 1}
			return f
		}),
		"a slot twice": frames(func(f []*fleetv1.Positions) []*fleetv1.Positions {
			f[0].GetTables()[0].Slots = append(f[0].GetTables()[0].GetSlots(), f[0].GetTables()[0].GetSlots()...)
			return f
		}),
	} {
		t.Run(name, func(t *testing.T) {
			timing := quick
			timing.Silence = time.Minute // a million slots take a busy machine long, with the race detector
			p := startPlane(t, timing)
			a := p.adopts()
			bad := p.connect(serving(), named("bad"))
			bad.welcome()
			bad.asked()
			good := p.connect(serving(), named("good"))
			good.welcome()
			bad.tells(tells...)
			bad.endsWith(codes.InvalidArgument)
			good.asked()
			good.tells()
			good.quiet()
			if got := a.Told().Backends(); len(got) != 2 {
				t.Errorf("told: %v", got)
			}
		})
	}
}

func TestPositionsThatWereNotAskedForEndTheStream(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	c := p.connect(stateOf(p.log.Head()))
	c.welcome()
	c.tells()
	c.endsWith(codes.InvalidArgument)
}

// A node that does not answer gets what is newest all the same, once the plane has gone on without it; its stream ends for lack of progress.
func TestANodeThatTellsNothingIsServed(t *testing.T) {
	timing := quick
	timing.Progress = 700 * time.Millisecond
	p := startPlane(t, timing)
	p.adopts()
	c := p.connect(nothing())
	c.welcome()
	mute := p.connect(serving(), named("mute"))
	mute.welcome()
	mute.asked()
	p.revise("web", "roundrobin")
	p.adopted()
	c.take()
	if mute.next().GetAskBuckets() == nil {
		t.Error("the node that told nothing is sent nothing")
	}
	mute.endsWith(codes.DeadlineExceeded)
}

// While a source is missing, a node keeps the tables of that source to the bit, and gets the newest of the others (P9).
func TestANodeOfAFrozenFleetKeepsWhatWasNotRead(t *testing.T) {
	var latencies atomic.Int32
	p := startPlane(t, quick, func(c *Config) {
		c.Applied = func(fleetv1.By, time.Duration) { latencies.Add(1) }
	})
	a := p.adopts()
	c := p.connect(serving())
	c.welcome()
	c.asked()
	c.tells()
	twin, fresh := p.connect(serving(), named("twin")), p.connect(nothing(), named("fresh"))
	twin.welcome()
	fresh.welcome()
	// What the plane publishes is the table of the source that it has read; the positions have given it slot 3.
	p.fill("home", 3, 1)
	p.fleets.Set(map[string]changelog.Fleet{"edge": {Name: "edge", Log: p.log, Frozen: true, Waiting: "source far", Adoption: a}})
	p.view("frozen", waits(fleetv1.Code_CODE_FROZEN))
	c.quiet() // it has just that
	seen := time.Now()
	p.log.Publish(revision("home", "leastconn"), generation("home", 6, 9), seen, seen)
	far := c.gen.Table("far").Digest()
	for _, n := range []*client{c, twin} {
		u := n.take()
		if u.ChangesRevision() || n.rev.Digest() != serving().rev.Digest() {
			t.Error("a frozen fleet is sent a revision")
		}
		if got := n.gen.Table("home").Slots[6].Endpoint; got != "shop/pod-9" {
			t.Errorf("the endpoint of the source that was read is not there: %q", got)
		}
		if n.gen.Table("far") == nil || n.gen.Table("far").Digest() != far {
			t.Error("the table of the source that was not read is not as it was")
		}
		n.applied(func(a *fleetv1.Applied) { a.Seen = timestamp(u.Seen) })
	}
	v := p.view("applied, and waiting for the rest", func(v node.View) bool {
		return v.Waiting.Code == fleetv1.Code_CODE_FROZEN && v.HasGeneration(p.log.Head().Marks().Generation)
	})
	if v.Lag(p.log.Head().Marks().Generation) != 0 || v.State(p.log.Head().Marks()) != node.Waiting || latencies.Load() == 0 {
		t.Errorf("lag %d, state %v, %d latencies", v.Lag(p.log.Head().Marks().Generation), v.State(p.log.Head().Marks()), latencies.Load())
	}
	fresh.quiet() // without a revision it waits

	// The missing source is read: the log has everything, and what differs is found as ever.
	p.adopts()
	p.publish(revision("far", "leastconn").Merge(revision("home", "roundrobin")), generation("far", 5, 2))
	p.adopted()
	if c.next().GetAskBuckets() == nil {
		t.Fatal("not asked for buckets")
	}
	fresh.take()
	fresh.has(p.log.Head())
	c.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Buckets{Buckets: wire.Buckets(&fleetv1.AskBuckets{Revision: true, Generation: true}, c.rev, c.gen)}})
	c.take()
	c.has(p.log.Head())
	p.view("served", func(v node.View) bool { return v.Waiting.Code == 0 })
}

// Nothing of a frozen fleet's kept tables is ever sent whole: a node that does not hold what it told says so anew.
func TestANodeOfAFrozenFleetThatDoesNotHoldWhatItToldStartsAnew(t *testing.T) {
	p := startPlane(t, quick)
	a := p.adopts()
	c := p.connect(serving())
	c.welcome()
	c.asked()
	c.tells()
	p.fill("home", 6, 9)
	p.fleets.Set(map[string]changelog.Fleet{"edge": {Name: "edge", Log: p.log, Frozen: true, Waiting: "source far", Adoption: a}})
	u := c.update()
	if u.Scope != fleetv1.Scope_SCOPE_CHANGES {
		t.Errorf("the first step is %s", u.Scope)
	}
	c.received(u, fleetv1.Code_CODE_BASE_MISMATCH)
	c.endsWith(codes.Aborted)
}

// A dirty node of a frozen fleet is owed a word as any other.
func TestADirtyNodeOfAFrozenFleetIsConfirmed(t *testing.T) {
	p := startPlane(t, quick)
	a := p.adopts()
	c := p.connect(serving(), func(h *fleetv1.Hello) { h.Dirty = true })
	c.welcome()
	c.asked()
	c.tells()
	p.fill("home", 3, 1)
	p.fleets.Set(map[string]changelog.Fleet{"edge": {Name: "edge", Log: p.log, Frozen: true, Waiting: "source far", Adoption: a}})
	if u := c.take(); !u.Generation.Empty() || u.To.Generation.Digest != serving().gen.Digest() {
		t.Errorf("the confirmation has %v and leads to %v", u.Generation, u.To)
	}
	c.quiet()
}

// A node that comes while the fleet is frozen is asked what it holds, though nobody's slot moves for it any more.
func TestANodeThatComesWhileTheFleetIsFrozen(t *testing.T) {
	p := startPlane(t, quick)
	a := p.adopts()
	a.Close()
	p.fill("home", 6, 9)
	p.fleets.Set(map[string]changelog.Fleet{"edge": {Name: "edge", Log: p.log, Frozen: true, Waiting: "source far", Adoption: a}})
	c := p.connect(serving())
	if w := c.welcome(); w.GetWaiting() != fleetv1.Code_CODE_FROZEN {
		t.Errorf("welcome: %v", w)
	}
	c.asked()
	twin := p.connect(serving(), named("twin"))
	twin.welcome()
	twin.quiet()
	c.tells()
	for _, n := range []*client{c, twin} {
		n.take()
		if n.gen.Table("far") == nil || n.gen.Table("home").Slots[6].Address != netip.MustParseAddr("10.0.0.9") {
			t.Error("the node does not have what it kept and what is new")
		}
	}
}

// An answer for which there is no room ends its stream, and one that nobody waits for any longer is kept by nobody.
func TestAnswersAreBoundedTogether(t *testing.T) {
	p := startPlane(t, quick)
	a := p.adopts()
	other := serving()
	other.gen = other.gen.Apply(generation("more", 1, 1), snapshot.Version{Epoch: 3, Number: 22})
	greedy := a.Meet(other.marks(), false, time.Now())
	for size := 1 << 30; size > 0; size /= 2 {
		for greedy.Keep(size) {
		}
	}
	c := p.connect(serving())
	c.welcome()
	c.asked()
	c.tells(wire.PositionFrames(c.gen, 1)[0])
	c.endsWith(codes.ResourceExhausted)

	c = p.connect(serving())
	c.welcome()
	c.asked()
	p.revise("web", "roundrobin")
	p.adopted()
	if c.next().GetAskBuckets() == nil {
		t.Fatal("the plane does not go on without the answer")
	}
	c.tells()
	c.quiet()
}
