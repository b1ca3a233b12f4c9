package stream

import (
	"fmt"
	"testing"

	"github.com/berth-proxy/berth/api/snapshot"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// One update is in flight until the node has answered it. What changes meanwhile is one update afterwards, from what the node says that it holds
// (STREAM-2, P7).

func TestWhatChangesInFlightMergesIntoTheNext(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	c := p.connect(nothing())
	c.welcome()
	u := c.update()
	c.apply(u)
	p.fill("web", 0, 1)
	p.fill("web", 1, 2)
	p.fill("web", 0, 3)
	head := p.revise("web", "leastconn")
	c.quiet()
	c.received(u, fleetv1.Code_CODE_OK)
	u = c.take()
	if u.ID != 2 || u.Generation.Slots() != 2 || len(u.Revision.Changes) != 1 {
		t.Errorf("update %d with %d slots and %d resources, want the second with 2 and 1", u.ID, u.Generation.Slots(), len(u.Revision.Changes))
	}
	c.has(head)
	c.quiet()
}

func TestWhatChangesThereAndBackIsNotSent(t *testing.T) {
	p := startPlane(t, quick)
	p.revise("web", "roundrobin")
	p.fill("web", 0, 1)
	c := p.connect(nothing())
	c.welcome()
	u := c.update()
	c.apply(u)
	p.fill("web", 0, 2)
	head := p.fill("web", 0, 1)
	c.received(u, fleetv1.Code_CODE_OK)
	c.quiet()
	c.has(head)
}

// A large update goes out in frames. The plane's newest moves while they travel, and what arrives is one state all the same.
func TestALargeUpdateIsOfOneMoment(t *testing.T) {
	p := startPlane(t, quick)
	large := snapshot.RevisionDelta{}
	for i := range 4000 {
		large = merge(large, revision(fmt.Sprintf("web-%d", i), fmt.Sprintf("%0500d", i)))
	}
	before := p.publish(large, snapshot.GenerationDelta{})
	c := p.connect(nothing())
	c.welcome()
	frames := 0
	for complete := false; !complete; frames++ {
		head := p.fill("web-1", frames%8, frames)
		m := c.next()
		u, last, err := c.assembler.Add(m.GetUpdate())
		if err != nil {
			t.Fatal(err)
		}
		if complete = last; complete {
			c.apply(u)
			if c.rev.Digest() != before.Revision.Digest() {
				t.Error("the revision is not the one that the update began with")
			}
			c.received(u, fleetv1.Code_CODE_OK)
			c.take()
			c.has(head)
		}
	}
	if frames < 4 {
		t.Errorf("2 MB came in %d frames", frames)
	}
}

// merge adds in place: folding thousands of deltas by Merge costs their square.
func merge(d, e snapshot.RevisionDelta) snapshot.RevisionDelta {
	if d.Changes == nil {
		d.Changes = map[snapshot.Key]snapshot.Resource{}
	}
	for k, r := range e.Changes {
		d.Changes[k] = r
	}
	return d
}
