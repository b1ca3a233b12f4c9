package stream

import (
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// A plane that starts with nothing counts from one, and nodes come to it that another plane, or this one in an earlier life, has counted further
// with. Its epoch goes above theirs, and what is equal by its digest is not sent again (STREAM-3).

func TestAHelloRaisesTheEpoch(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	held := stateOf(p.fill("web", 0, 1))
	c := p.connect(held, func(h *fleetv1.Hello) { h.Epoch = 7 })
	if w := c.welcome(); w.GetEpoch() != 8 {
		t.Errorf("welcomed with epoch %d, want 8", w.GetEpoch())
	}
	c.quiet()
	if c.newest.GetEpoch() != 8 || c.newest.GetNewest().GetGeneration().GetVersion().GetEpoch() != 8 {
		t.Errorf("the heartbeat tells of %v", c.newest)
	}
	p.fill("web", 1, 2)
	if u := c.take(); u.To.Generation.Version.Epoch != 8 || u.ChangesRevision() {
		t.Errorf("the next change leads to %+v", u.To)
	}
}

// What a node holds when a plane has just started may be just what this plane has made of the same sources, under the same numbers. It is another plane's
// all the same, which may still be there and counting.
func TestAPlaneThatAdoptsGoesAboveItsEqual(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	head := p.fill("web", 0, 1)
	p.adopts()
	c := p.connect(stateOf(head), func(h *fleetv1.Hello) { h.Epoch = head.Epoch })
	if w := c.welcome(); w.GetEpoch() != head.Epoch+1 {
		t.Errorf("welcomed with epoch %d by a plane of epoch %d", w.GetEpoch(), head.Epoch)
	}
	c.asked()
	p.adopted()
	c.quiet()
	if again := p.connect(stateOf(head), func(h *fleetv1.Hello) { h.Epoch = head.Epoch + 1 }).welcome(); again.GetEpoch() != head.Epoch+1 {
		t.Errorf("a node that comes back is welcomed with epoch %d", again.GetEpoch())
	}
}

func TestAnOldEpochIsRaisedAndSentAgain(t *testing.T) {
	p := startPlane(t, quick)
	head := p.revise("web", "roundrobin")
	c := p.connect(nothing())
	c.welcome()
	u := c.update()
	c.received(u, fleetv1.Code_CODE_OLD_EPOCH, func(r *fleetv1.Received) { r.Epoch = 40 })
	again := c.take()
	if again.To.Revision.Version.Epoch != 41 || again.To.Revision.Digest != u.To.Revision.Digest {
		t.Errorf("sent again: %+v after %+v", again.To, u.To)
	}
	c.has(head)
	c.quiet()
}

// The plane was started anew and counts in the same epoch as before; the node holds a later number, or the same number with other content.
func TestTheSameEpochCountedTwice(t *testing.T) {
	foreign := func(number uint64) state {
		v := snapshot.Version{Epoch: 1, Number: number}
		return state{snapshot.EmptyRevision().Apply(revision("web", "random"), v), snapshot.EmptyGeneration().Apply(generation("web", 0, 9), v)}
	}
	for name, c := range map[string]struct {
		held  state
		epoch uint64
	}{
		"a later number":                     {foreign(500), 2},
		"the same number with other content": {foreign(1), 2},
		"an earlier number takes later ones": {foreign(0), 1},
		"nothing":                            {nothing(), 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPlane(t, quick)
			p.publish(revision("web", "roundrobin"), generation("web", 0, 1))
			node := p.connect(c.held)
			if w := node.welcome(); w.GetEpoch() != c.epoch {
				t.Errorf("welcomed with epoch %d, want %d", w.GetEpoch(), c.epoch)
			}
		})
	}
}

func TestANodeOfThisPlaneDoesNotRaiseItsEpoch(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	old := stateOf(p.log.RaiseEpoch(4))
	head := p.fill("web", 0, 1)
	for _, held := range []state{old, stateOf(head)} {
		c := p.connect(held)
		if w := c.welcome(); w.GetEpoch() != head.Epoch {
			t.Errorf("epoch %d became %d", head.Epoch, w.GetEpoch())
		}
		c.cancel()
		c.endsWith(codes.Canceled)
	}
}

// No node can make the plane count to the end of the numbers.
func TestAnAbsurdEpochIsRefused(t *testing.T) {
	p := startPlane(t, quick)
	head := p.revise("web", "roundrobin")
	c := p.connect(nothing(), func(h *fleetv1.Hello) { h.Epoch = 1 << 63 })
	c.endsWith(codes.InvalidArgument)
	c = p.connect(nothing())
	c.welcome()
	u := c.update()
	c.received(u, fleetv1.Code_CODE_OLD_EPOCH, func(r *fleetv1.Received) { r.Epoch = 1<<64 - 1 })
	c.endsWith(codes.InvalidArgument)
	if p.log.Head() != head {
		t.Errorf("the epoch is %d", p.log.Head().Epoch)
	}
}

// A node that tells of the last epoch costs the others nothing: neither on this plane nor on one that starts anew.
func TestALieAboutTheEpochCostsNobodyElse(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	good := p.connect(nothing())
	good.welcome()
	good.take()
	liar := p.connect(nothing(), named("liar"), func(h *fleetv1.Hello) { h.Epoch = changelog.MaxEpoch })
	if w := liar.welcome(); w.GetEpoch() != changelog.MaxEpoch {
		t.Fatalf("welcomed with epoch %d", w.GetEpoch())
	}
	for pod := range 2 {
		p.fill("web", pod, pod)
		good.take()
		good.applied()
	}
	// A number that this plane has counted to after a lie about numbers is none that a node could be refused for.
	head := stateOf(p.fill("web", 2, 2))
	good.take()
	far := snapshot.Version{Epoch: changelog.MaxEpoch, Number: maxNumber}
	held := state{head.rev.Apply(snapshot.RevisionDelta{}, far), head.gen.Apply(snapshot.GenerationDelta{}, far)}

	anew := startPlane(t, quick)
	newest := anew.publish(revision("web", "random"), generation("web", 3, 3))
	back := anew.connect(held)
	if w := back.welcome(); w.GetEpoch() != changelog.MaxEpoch {
		t.Fatalf("welcomed back with epoch %d", w.GetEpoch())
	}
	question := back.next().GetAskBuckets()
	if question == nil {
		t.Fatal("not asked what differs")
	}
	back.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Buckets{Buckets: wire.Buckets(question, back.rev, back.gen)}})
	back.take()
	back.has(newest)
	back.quiet()
}

// A node that refuses the very epoch that it tells of is not sent the same for ever.
func TestAnEpochThatCannotBeRaisedIsNoReasonToSendAgain(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	c := p.connect(nothing(), func(h *fleetv1.Hello) { h.Epoch = changelog.MaxEpoch })
	c.welcome()
	for range 4 {
		c.received(c.update(), fleetv1.Code_CODE_OLD_EPOCH, func(r *fleetv1.Received) { r.Epoch = changelog.MaxEpoch })
	}
	c.endsWith(codes.Internal)
}
