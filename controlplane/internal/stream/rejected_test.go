package stream

import (
	"testing"

	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// HAProxy refuses a revision. The node keeps the one that it has, and endpoints go on changing (STREAM-4).

func reject(c *client, p *plane) {
	c.t.Helper()
	c.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Rejected{Rejected: &fleetv1.Rejected{
		Revision: p.log.Head().Marks().Revision.Proto(), Code: fleetv1.Code_CODE_CONFIG_REFUSED, Message: "unknown keyword",
	}}})
}

func TestARefusedRevisionIsNotSentAgain(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	c := p.connect(nothing())
	c.welcome()
	c.take()
	before := stateOf(p.log.Head())
	bad := p.revise("web", "bogus")
	u := c.update()
	c.received(u, fleetv1.Code_CODE_OK, func(r *fleetv1.Received) { r.Held = bad.Marks().Proto() })
	reject(c, p)
	v := p.view("rejected", func(v node.View) bool { return v.State(bad.Marks()) == node.Rejected })
	if why, _ := v.Rejected(bad.Revision.Digest()); why.Message != "unknown keyword" {
		t.Errorf("rejected because of %+v", why)
	}
	p.fill("web", 0, 1)
	if u := c.take(); u.ChangesRevision() || u.Generation.Slots() != 1 {
		t.Errorf("after the rejection: %+v", u)
	}
	if c.rev.Digest() != before.rev.Digest() {
		t.Error("the node has another revision")
	}
	c.quiet()

	good := p.revise("web", "leastconn")
	if u := c.take(); u.From.Revision.Digest != before.rev.Digest() {
		t.Errorf("the next revision starts from %+v", u.From.Revision)
	}
	c.has(good)
	c.quiet()
}

// The node falls back to the revision before, and the next one comes before the plane has heard that.
func TestTheRevisionAfterARefusedOne(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	c := p.connect(nothing())
	c.welcome()
	c.take()
	bad := p.revise("web", "bogus")
	c.received(c.update(), fleetv1.Code_CODE_OK, func(r *fleetv1.Received) { r.Held = bad.Marks().Proto() })
	reject(c, p)
	p.view("rejected", func(v node.View) bool { return v.State(bad.Marks()) == node.Rejected })
	good := p.revise("web", "leastconn")
	u := c.update()
	if _, _, err := u.Apply(c.rev, c.gen); wire.CodeOf(err) != fleetv1.Code_CODE_BASE_MISMATCH {
		t.Fatalf("the test is to see an update from the refused revision, not one from %+v", u.From)
	}
	c.received(u, fleetv1.Code_CODE_BASE_MISMATCH)
	if u := c.take(); u.Scope != fleetv1.Scope_SCOPE_CHANGES {
		t.Errorf("told what the node holds, the plane sent %v", u.Scope)
	}
	c.has(good)
	c.quiet()
}

func TestANodeThatComesBackTellsWhatItRefused(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	held := stateOf(p.fill("web", 0, 1))
	bad := p.revise("web", "bogus")
	digest := bad.Revision.Digest()
	refused := func(h *fleetv1.Hello) {
		h.Rejected = []*fleetv1.RejectedRevision{{Digest: digest[:], Code: fleetv1.Code_CODE_CONFIG_REFUSED}}
	}

	c := p.connect(held, refused)
	c.welcome()
	c.quiet()
	p.view("rejected", func(v node.View) bool { return v.State(bad.Marks()) == node.Rejected })
	p.fill("web", 1, 2)
	if u := c.take(); u.ChangesRevision() {
		t.Error("the refused revision was sent")
	}

	c = p.connect(nothing(), refused)
	c.welcome()
	if u := c.take(); u.ChangesRevision() || u.Scope != fleetv1.Scope_SCOPE_EVERYTHING {
		t.Errorf("a node with nothing that refused the newest revision was sent %+v", u.To)
	}
	c.quiet()
	good := p.revise("web", "leastconn")
	c.take()
	c.has(good)
}
