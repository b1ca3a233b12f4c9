package node

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// A node on which every revision is refused for a year must still be able to greet its plane.
func TestNODE5_RejectionsAreBounded(t *testing.T) {
	r := rejections{}
	digest := func(i int) snapshot.Digest { return snapshot.Digest{byte(i), byte(i >> 8)} }
	const many = 3 * wire.MaxRejected
	for i := range many {
		d := digest(i)
		report := &fleetv1.Rejected{Revision: wire.Mark{Version: snapshot.Version{Epoch: 1, Number: 1}, Digest: d}.Proto(), Message: fmt.Sprint(i)}
		r.add(d, report)
		r.add(d, report) // twice is once
	}
	if len(r.hello) != wire.MaxRejected || len(r.byDigest) != wire.MaxRejected || len(r.list) != wire.MaxRejected {
		t.Fatalf("%d are told, %d known", len(r.hello), len(r.byDigest))
	}
	hello := &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Hello{Hello: &fleetv1.Hello{Fleet: "f", Node: "n", Rejected: r.hello}}}
	if err := wire.CheckRequest(hello); err != nil {
		t.Errorf("a plane does not take the greeting: %v", err)
	}
	if r.has(digest(0)) || !r.has(digest(many-1)) || r.get(digest(many-1)).GetMessage() != fmt.Sprint(many-1) {
		t.Error("not the newest are kept")
	}
}

func table(backend string, slots ...snapshot.Slot) *snapshot.Table {
	return &snapshot.Table{Backend: backend, Slots: slots}
}

func TestExceptions(t *testing.T) {
	slot := func(port uint16) snapshot.Slot {
		return snapshot.Slot{State: snapshot.Ready, Address: netip.MustParseAddr("10.0.0.1"), Port: port, Weight: 1}
	}
	x := exceptions{}
	own, refused := exception{slot(1), fleetv1.Code_CODE_OWN_LISTENER, "own"}, exception{slot(2), fleetv1.Code_CODE_SLOT_REFUSED, "refused"}
	if !x.add("b", 1, own) || x.add("b", 1, own) || !x.add("b", 0, refused) || !x.add("c", 0, own) {
		t.Error("what is new is not told from what is known")
	}
	x.news = false
	b := table("b", slot(2), slot(1), slot(3))
	free := x.free(b)
	if free[0] != (snapshot.Slot{}) || free[1] != (snapshot.Slot{}) || free[2] != slot(3) || b.Slots[0] != slot(2) {
		t.Errorf("free: %v of %v", free, b.Slots)
	}
	if got := x.free(table("d", slot(1))); got[0] != slot(1) {
		t.Errorf("another backend: %v", got)
	}

	gen := snapshot.EmptyGeneration().Apply(snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{
		"b": {Length: 3, Slots: map[int]snapshot.Slot{0: slot(2), 1: slot(1), 2: slot(3)}},
	}}, snapshot.Version{Epoch: 1, Number: 1})
	rendered := x.without(fleetv1.Code_CODE_OWN_LISTENER, gen)
	if got := rendered.Table("b").Slots; got[0] != slot(2) || got[1] != (snapshot.Slot{}) || got[2] != slot(3) {
		t.Errorf("a configuration has %v", got)
	}
	if (&exceptions{}).without(fleetv1.Code_CODE_OWN_LISTENER, gen) != gen {
		t.Error("a generation without exceptions is another one")
	}

	proto := x.proto()
	if len(proto) != 3 || proto[0].GetSlot() != 1 || proto[1].GetSlot() != 2 || proto[2].GetBackend() != "c" {
		t.Errorf("told: %v", proto)
	}
	if x.settle("b", b); x.news {
		t.Error("what is still wanted has settled")
	}
	x.settle("b", table("b", slot(2)))
	x.settle("c", nil)
	if len(x.proto()) != 1 || !x.news {
		t.Errorf("after the tables have changed: %v", x.proto())
	}
	if x.forget(fleetv1.Code_CODE_SLOT_REFUSED); len(x.slots) != 0 {
		t.Errorf("left: %v", x.slots)
	}
}
