package stream

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"google.golang.org/grpc/codes"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// An update does not fit what the node holds. The plane relies on less each time: on what the node says now, on its buckets, on nothing; and then it gives
// the stream up instead of sending for ever.

// foreignState is one that no log of these tests knows.
func foreignState() state {
	v := snapshot.Version{Epoch: 1, Number: 1}
	return state{snapshot.EmptyRevision().Apply(revision("other", "random"), v), snapshot.EmptyGeneration().Apply(generation("other", 0, 9), v)}
}

// mistaken connects a node that said that it holds s and holds other.
func (p *plane) mistaken(s, other state) *client {
	c := p.connect(s)
	c.rev, c.gen = other.rev, other.gen
	return c
}

func TestAMismatchIsSentFromWhatTheNodeSaysNow(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	older := stateOf(p.fill("web", 0, 1))
	newer := stateOf(p.fill("web", 1, 2))
	head := p.fill("web", 2, 3)
	c := p.mistaken(newer, older)
	c.welcome()
	c.received(c.update(), fleetv1.Code_CODE_BASE_MISMATCH)
	if u := c.take(); u.Scope != fleetv1.Scope_SCOPE_CHANGES || u.Generation.Slots() != 2 {
		t.Errorf("sent %v with %d slots, want the changes of 2", u.Scope, u.Generation.Slots())
	}
	c.has(head)
	c.quiet()
}

func TestAMismatchFromTheUnknownIsAskedForBuckets(t *testing.T) {
	p := startPlane(t, quick)
	held := stateOf(p.revise("web", "roundrobin"))
	head := p.fill("web", 0, 1)
	c := p.mistaken(held, foreignState())
	c.welcome()
	c.received(c.update(), fleetv1.Code_CODE_BASE_MISMATCH)
	ask := c.next().GetAskBuckets()
	if !ask.GetRevision() || !ask.GetGeneration() {
		t.Fatalf("asked for %v", ask)
	}
	c.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Buckets{Buckets: wire.Buckets(ask, c.rev, c.gen)}})
	if u := c.take(); u.Scope != fleetv1.Scope_SCOPE_BUCKETS {
		t.Errorf("sent %v", u.Scope)
	}
	c.has(head)
	c.quiet()
}

func TestWhatNeverFitsEndsTheStream(t *testing.T) {
	p := startPlane(t, quick)
	held := stateOf(p.revise("web", "roundrobin"))
	p.fill("web", 0, 1)
	c := p.connect(held)
	c.welcome()
	c.received(c.update(), fleetv1.Code_CODE_BASE_MISMATCH)
	c.received(c.update(), fleetv1.Code_CODE_BASE_MISMATCH)
	ask := c.next().GetAskBuckets()
	c.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Buckets{Buckets: wire.Buckets(ask, c.rev, c.gen)}})
	c.received(c.update(), fleetv1.Code_CODE_BASE_MISMATCH)
	u := c.update()
	if u.Scope != fleetv1.Scope_SCOPE_EVERYTHING {
		t.Errorf("the last try is one of %v", u.Scope)
	}
	c.received(u, fleetv1.Code_CODE_BASE_MISMATCH)
	c.endsWith(codes.Internal)
}

// The plane and the node disagree about the content itself, or the node says that it took an update and holds something else.
func TestOtherContentIsSentWhole(t *testing.T) {
	for name, c := range map[string]struct {
		code fleetv1.Code
		held wire.Marks
	}{
		"another digest":     {fleetv1.Code_CODE_DIGEST_MISMATCH, wire.Marks{}},
		"not valid":          {fleetv1.Code_CODE_INVALID, wire.Marks{}},
		"taken and not held": {fleetv1.Code_CODE_OK, foreignState().marks()},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPlane(t, quick)
			held := stateOf(p.revise("web", "roundrobin"))
			head := p.fill("web", 0, 1)
			n := p.connect(held)
			n.welcome()
			said := func(r *fleetv1.Received) { r.Held = c.held.Proto() }
			n.received(n.update(), c.code, said)
			if u := n.take(); u.Scope != fleetv1.Scope_SCOPE_EVERYTHING {
				t.Errorf("sent again as %v", u.Scope)
			}
			n.has(head)
			n.quiet()
			p.fill("web", 1, 2)
			n.received(n.update(), c.code, said)
			n.received(n.update(), c.code, said)
			n.endsWith(codes.Internal)
		})
	}
}

// The node's disk is full for a moment: the update is sent again, a little later each time.
func TestWhatCouldNotBeTakenIsSentAgain(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	head := p.fill("web", 0, 1)
	c := p.connect(nothing())
	c.welcome()
	for range 3 {
		c.received(c.update(), fleetv1.Code_CODE_DISK)
	}
	c.take()
	c.has(head)
	c.quiet()
}

// Applied tells of a refused slot again and again, the log of the plane once.
func TestAnExceptedSlotIsLoggedOnce(t *testing.T) {
	var lines lockedBuffer
	p := startPlane(t, quick, func(c *Config) { c.Log = zerolog.New(&lines) })
	p.revise("web", "roundrobin")
	c := p.connect(nothing())
	c.welcome()
	c.take()
	refused := func(a *fleetv1.Applied) {
		a.Excepted = []*fleetv1.ExceptedSlot{{Backend: "web", Slot: 3, Code: fleetv1.Code_CODE_OWN_LISTENER}}
	}
	for n := range 3 {
		p.fill("web", 0, n+1)
		c.take()
		c.applied(refused)
	}
	head := p.fill("web", 0, 9)
	c.take()
	c.applied()
	p.view("applied", func(v node.View) bool { return v.Applied == head.Marks() })
	c.applied(refused)
	p.view("refused again", func(v node.View) bool { return len(v.Excepted) == 1 })
	c.quiet()
	if n := strings.Count(lines.String(), "could not take some slots"); n != 2 {
		t.Errorf("a slot that was refused, taken and refused is logged %d times:\n%s", n, lines.String())
	}
}

// STREAM-7: a node whose troubles are new ones each time fills no log.
func TestComplaintsWithoutEndAreNotAllLogged(t *testing.T) {
	var lines lockedBuffer
	p := startPlane(t, quick, func(c *Config) { c.Log = zerolog.New(&lines) })
	head := p.revise("web", "roundrobin")
	c := p.connect(stateOf(head))
	c.welcome()
	const many = 1000
	for n := range many {
		c.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Failed{Failed: &fleetv1.Failed{Code: fleetv1.Code_CODE_DISK, Message: fmt.Sprint(n)}}})
	}
	p.view("the last trouble", func(v node.View) bool { return v.Failed.Message == fmt.Sprint(many-1) })
	if n := strings.Count(lines.String(), "node has failed"); n == 0 || n > complaintsAtOnce+1 {
		t.Errorf("%d troubles are %d lines", many, n)
	}
}

// lockedBuffer takes what several goroutines log.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestAFailureIsShownUntilItIsOvercome(t *testing.T) {
	p := startPlane(t, quick)
	head := p.revise("web", "roundrobin")
	c := p.connect(nothing())
	c.welcome()
	c.take()
	c.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Failed{Failed: &fleetv1.Failed{
		Wanted: head.Marks().Proto(), Code: fleetv1.Code_CODE_BIND, Message: "port 80 is taken",
	}}})
	v := p.view("failed", func(v node.View) bool { return v.State(head.Marks()) == node.Failed })
	if v.Failed.Message != "port 80 is taken" {
		t.Errorf("failed because of %+v", v.Failed)
	}
	c.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Observed{Observed: &fleetv1.Observed{OldWorkers: 2, Reloads: 5, Drifts: 1}}})
	c.applied(func(a *fleetv1.Applied) {
		a.Excepted = []*fleetv1.ExceptedSlot{{Backend: "web", Slot: 3, Code: fleetv1.Code_CODE_OWN_LISTENER, Message: "127.0.0.1:80"}}
	})
	v = p.view("overcome", func(v node.View) bool { return v.State(head.Marks()) == node.Current })
	if v.OldWorkers != 2 || v.Reloads != 5 || v.Drifts != 1 || len(v.Excepted) != 1 || v.Excepted[0].Slot != 3 {
		t.Errorf("the node is %+v", v)
	}
}
