package stream

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// A node connects with something on its disk. It is sent what differs from the newest: nothing, the changes since then, the buckets that differ, or
// everything (STREAM-1).

func TestANewNodeIsSentEverything(t *testing.T) {
	applied := make(chan time.Duration, 1)
	p := startPlane(t, quick, func(c *Config) { c.Applied = func(_ fleetv1.By, d time.Duration) { applied <- d } })
	p.revise("web", "roundrobin")
	head := p.fill("web", 0, 1)
	c := p.connect(nothing())
	if w := c.welcome(); w.GetWaiting() != 0 || w.GetEpoch() != head.Epoch {
		t.Errorf("welcome: %v", w)
	}
	u := c.take()
	if u.Scope != fleetv1.Scope_SCOPE_EVERYTHING || u.ID != 1 {
		t.Errorf("update %d of %v", u.ID, u.Scope)
	}
	c.has(head)
	p.view("received", func(v node.View) bool { return v.Held == head.Marks() && v.State(head.Marks()) == node.Behind })
	seen := time.Now()
	next := p.log.Publish(snapshot.RevisionDelta{}, generation("web", 1, 2), seen, time.Now())
	u = c.take()
	if !u.Seen.Equal(seen) || u.Scope != fleetv1.Scope_SCOPE_CHANGES {
		t.Errorf("update %d of %v, seen %v, want %v", u.ID, u.Scope, u.Seen, seen)
	}
	c.applied(func(a *fleetv1.Applied) { a.Seen = timestamp(u.Seen) })
	if d := <-applied; d <= 0 || d > patience {
		t.Errorf("it took %s from the source to the node", d)
	}
	v := p.view("applied", func(v node.View) bool { return v.State(next.Marks()) == node.Current })
	if v.Latency <= 0 {
		t.Errorf("the node's last latency is %s", v.Latency)
	}
	c.quiet()
}

func TestANodeThatHasTheNewestIsSentNothing(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	head := p.fill("web", 0, 1)
	c := p.connect(stateOf(head))
	c.welcome()
	c.quiet()
	if m, err := wire.MarksFrom(c.newest.GetNewest()); err != nil || m != head.Marks() || c.newest.GetEpoch() != head.Epoch {
		t.Errorf("the heartbeat names %v, the newest is %+v", c.newest, head.Marks())
	}
	p.view("current without an update", func(v node.View) bool { return v.State(head.Marks()) == node.Current })
}

// P6: a dirty node is never equal with nothing to send. It gets an update without changes, and has to say Applied.
func TestADirtyNodeIsMadeToConfirm(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	head := p.fill("web", 0, 1)
	c := p.connect(stateOf(head), func(h *fleetv1.Hello) { h.Dirty = true })
	c.welcome()
	p.view("dirty", func(v node.View) bool { return v.State(head.Marks()) == node.Behind })
	u := c.take()
	if u.From != head.Marks() || u.To != head.Marks() || len(u.Revision.Changes) > 0 || len(u.Generation.Tables) > 0 {
		t.Errorf("the confirmation is %+v", u)
	}
	c.quiet()
	c.applied()
	p.view("confirmed", func(v node.View) bool { return v.State(head.Marks()) == node.Current })
}

// A confirmation that was not taken is still owed.
func TestAConfirmationThatWasNotTakenIsSentAgain(t *testing.T) {
	for name, answer := range map[string]func(*fleetv1.Received){
		"a full disk":     func(r *fleetv1.Received) { r.Code = fleetv1.Code_CODE_DISK },
		"a higher epoch":  func(r *fleetv1.Received) { r.Code, r.Epoch = fleetv1.Code_CODE_OLD_EPOCH, 7 },
		"another base":    func(r *fleetv1.Received) { r.Code = fleetv1.Code_CODE_BASE_MISMATCH },
		"another content": func(r *fleetv1.Received) { r.Code = fleetv1.Code_CODE_DIGEST_MISMATCH },
	} {
		t.Run(name, func(t *testing.T) {
			p := startPlane(t, quick)
			p.revise("web", "roundrobin")
			head := p.fill("web", 0, 1)
			c := p.connect(stateOf(head), func(h *fleetv1.Hello) { h.Dirty = true })
			c.welcome()
			c.received(c.update(), fleetv1.Code_CODE_OK, answer)
			if u := c.take(); u.To.Revision.Digest != head.Revision.Digest() || u.To.Generation.Digest != head.Generation.Digest() {
				t.Errorf("sent again: %+v", u.To)
			}
			c.quiet()
		})
	}
}

func TestANodeThatWasAwayIsSentWhatChanged(t *testing.T) {
	p := startPlane(t, quick)
	for i := range 50 {
		p.publish(revision(fmt.Sprintf("web-%d", i), "roundrobin"), generation(fmt.Sprintf("web-%d", i), 0, i))
	}
	held := stateOf(p.log.Head())
	p.revise("web-3", "leastconn")
	p.fill("web-5", 1, 100)
	head := p.fill("web-7", 2, 101)
	c := p.connect(held)
	c.welcome()
	u := c.take()
	if u.Scope != fleetv1.Scope_SCOPE_CHANGES || len(u.Revision.Changes) != 1 || u.Generation.Slots() != 2 {
		t.Errorf("%v with %d resources and %d slots, want the changes: 1 and 2", u.Scope, len(u.Revision.Changes), u.Generation.Slots())
	}
	c.has(head)
	c.quiet()
}

func TestOnlyTheClockThatDiffersIsSent(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	held := stateOf(p.fill("web", 0, 1))
	head := p.fill("web", 1, 2)
	c := p.connect(held)
	c.welcome()
	if u := c.take(); u.ChangesRevision() || !u.ChangesGeneration() {
		t.Errorf("only the generation differs, but: %+v", u)
	}
	c.has(head)
}

// The node has what another plane gave it: the log cannot know it, but most of it is the same.
func TestTheBucketsThatDifferAreSent(t *testing.T) {
	const backends = 600
	for name, differ := range map[string]struct{ revision, generation bool }{
		"both clocks": {true, true}, "the generation": {false, true}, "the revision": {true, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPlane(t, quick)
			held := nothing()
			version := snapshot.Version{Epoch: 1, Number: 1}
			for i := range backends {
				rev, gen := revision(fmt.Sprintf("web-%d", i), "roundrobin"), generation(fmt.Sprintf("web-%d", i), 0, i)
				p.publish(rev, gen)
				held = state{held.rev.Apply(rev, version), held.gen.Apply(gen, version)}
			}
			head := p.log.Head()
			if differ.revision {
				held.rev = held.rev.Apply(revision("web-3", "leastconn").Merge(revision("other", "random")), version)
			}
			if differ.generation {
				held.gen = held.gen.Apply(generation("web-5", 1, 100).Merge(generation("other", 1, 101)), version)
			}
			c := p.connect(held)
			c.welcome()
			ask := c.next().GetAskBuckets()
			if ask.GetRevision() != differ.revision || ask.GetGeneration() != differ.generation {
				t.Fatalf("asked for %v", ask)
			}
			c.quiet() // nothing more before the answer
			c.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Buckets{Buckets: wire.Buckets(ask, c.rev, c.gen)}})
			u := c.take()
			if u.Scope != fleetv1.Scope_SCOPE_BUCKETS || u.ChangesRevision() != differ.revision || u.ChangesGeneration() != differ.generation {
				t.Errorf("an update of %v from %+v to %+v", u.Scope, u.From, u.To)
			}
			if len(u.RevisionBuckets) > 2 || len(u.GenerationBuckets) > 2 || len(u.Revision.Changes)+len(u.Generation.Tables) > backends/10 {
				t.Errorf("%d and %d buckets with %d resources and %d tables for two differences", len(u.RevisionBuckets), len(u.GenerationBuckets),
					len(u.Revision.Changes), len(u.Generation.Tables))
			}
			c.has(head)
			c.quiet()
			next := p.fill("web-5", 2, 200)
			if u := c.take(); u.Scope != fleetv1.Scope_SCOPE_CHANGES {
				t.Errorf("the next update is one of %v", u.Scope)
			}
			c.has(next)
		})
	}
}

// While the buckets are asked for, the plane goes on: what is sent is the newest, and the node had moved as well.
func TestTheBucketsOfAMovingFleet(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	p.fill("web", 0, 1)
	version := snapshot.Version{Epoch: 1, Number: 1}
	c := p.connect(state{snapshot.EmptyRevision().Apply(revision("old", "random"), version), snapshot.EmptyGeneration().Apply(generation("old", 1, 1), version)})
	c.welcome()
	ask := c.next().GetAskBuckets()
	head := p.fill("web", 1, 2)
	c.quiet()
	c.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Buckets{Buckets: wire.Buckets(ask, c.rev, c.gen)}})
	c.take()
	c.has(head)
}
