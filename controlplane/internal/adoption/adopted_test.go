package adoption

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/slots"
)

// pod is an endpoint; two of the same number and another turn have the same name and another address.
func pod(n, turn int, state snapshot.SlotState) slots.Endpoint {
	return slots.Endpoint{
		Name: fmt.Sprintf("shop/pod-%d", n), Address: netip.AddrFrom4([4]byte{10, 0, byte(turn), byte(n)}), Port: 80, Weight: 100, State: state,
	}
}

// positions are what a node tells that holds these tables.
func positions(t rapid.TB, version snapshot.Version, tables ...*snapshot.Table) *wire.Positions {
	t.Helper()
	d := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{}}
	for _, table := range tables {
		d.Tables[table.Backend], _ = snapshot.DiffTables(nil, table)
	}
	var a wire.PositionAssembler
	for _, f := range wire.PositionFrames(snapshot.EmptyGeneration().Apply(d, version), 300) {
		got, complete, err := a.Add(f)
		if err != nil {
			t.Fatal(err)
		}
		if complete {
			return got
		}
	}
	t.Fatal("the answer has no end")
	return nil
}

var later = time.Now()

// adopt is a plane's start with one node, which holds these tables.
func adopt(t rapid.TB, version snapshot.Version, tables ...*snapshot.Table) *Adopted {
	t.Helper()
	f := New(Timing{}, func() {})
	p := positions(t, version, tables...)
	f.Meet(wire.Marks{Generation: p.Generation}, true, later).Answer(p, later)
	return f.Close()
}

// ADOPT-3: whatever the history of a table was, it goes on from its positions as it would have gone on from itself: with the same endpoints, and with others.
func TestADOPT3ATableGoesOnAsIfThePlaneHadNotBeenAway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := slots.Policy{Minimum: rapid.IntRange(0, 9).Draw(t, "minimum"), SurgePercent: 25}
		endpoints := func() []slots.Endpoint {
			var eps []slots.Endpoint
			for n := range rapid.IntRange(0, 9).Draw(t, "pods") {
				state := rapid.SampledFrom([]snapshot.SlotState{snapshot.Ready, snapshot.Ready, snapshot.Drain}).Draw(t, "state")
				eps = append(eps, pod(n, rapid.IntRange(0, 2).Draw(t, "turn"), state))
			}
			return eps
		}
		var table *snapshot.Table
		var last []slots.Endpoint
		at := snapshot.Version{Epoch: 1}
		for range rapid.IntRange(1, 10).Draw(t, "steps") {
			at.Number++
			last = endpoints()
			table, _, _ = slots.Assign("web", table, last, policy, at)
		}
		if rapid.Bool().Draw(t, "changed meanwhile") {
			last = endpoints()
		}
		a := adopt(t, at, table)
		next := snapshot.Version{Epoch: 2, Number: a.Generation + 1}
		want, _, _ := slots.Assign("web", table, last, policy, next)
		got, _, _ := slots.Assign("web", a.Table("web", slots.Size(len(last), policy)), last, policy, next)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(snapshot.Table{}, "Version"), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Fatalf("the table goes on otherwise (-the plane stayed +the plane was away):\n%s", diff)
		}
		if got.Digest() != want.Digest() {
			t.Fatal("the digests differ")
		}
	})
}

// ADOPT-2: whatever the order of the answers, of each backend the highest version wins, and of equal ones that differ the lowest digest.
func TestADOPT2TheHighestVersionWinsInAnyOrder(t *testing.T) {
	table := func(number uint64, first int) *snapshot.Table {
		s := make([]snapshot.Slot, 4)
		e := pod(first, 0, snapshot.Ready)
		s[first] = snapshot.Slot{State: snapshot.Ready, Address: e.Address, Port: 80, Weight: 100, Endpoint: e.Name}
		return &snapshot.Table{Backend: "web", Version: snapshot.Version{Epoch: 1, Number: number}, Slots: s}
	}
	lower := func(a, b int) int {
		if x, y := table(5, a).Digest(), table(5, b).Digest(); bytes.Compare(x[:], y[:]) < 0 {
			return a
		}
		return b
	}
	for _, c := range []struct {
		name      string
		told      map[string]*snapshot.Table
		want      int
		conflicts int
	}{
		{"the highest", map[string]*snapshot.Table{"a": table(3, 0), "b": table(5, 1), "c": table(4, 2)}, 1, 0},
		{"the lowest digest of the highest", map[string]*snapshot.Table{"a": table(3, 0), "c": table(5, 1), "b": table(5, 2)}, lower(1, 2), 1},
		{"of many that differ in two ways", map[string]*snapshot.Table{"a": table(5, 0), "b": table(5, 1), "c": table(5, 0)}, lower(0, 1), 1},
		{"those that are older", map[string]*snapshot.Table{"a": table(4, 0), "b": table(4, 1), "c": table(5, 2)}, 2, 0},
		{"a version above the node's own counts as its own", map[string]*snapshot.Table{"a": table(9, 0), "b": table(1<<40, 1)}, lower(0, 1), 1},
	} {
		for _, order := range permutations(slices.Sorted(maps.Keys(c.told))) {
			f := New(Timing{}, func() {})
			for _, name := range order {
				p := positions(t, snapshot.Version{Epoch: 1, Number: 9}, c.told[name])
				f.Meet(wire.Marks{Generation: p.Generation}, true, later).Answer(p, later)
			}
			a := f.Close()
			if got := a.Table("web", 4); got.Slots[c.want].State != snapshot.Ready || a.Conflicts != c.conflicts {
				t.Errorf("%s, in the order %v: adopted %+v with %d conflicts, want slot %d and %d", c.name, order, got.Slots, a.Conflicts, c.want, c.conflicts)
			}
		}
	}
}

func permutations(names []string) [][]string {
	if len(names) <= 1 {
		return [][]string{names}
	}
	var all [][]string
	for i := range names {
		for _, rest := range permutations(append(slices.Clone(names[:i]), names[i+1:]...)) {
			all = append(all, append([]string{names[i]}, rest...))
		}
	}
	return all
}

// ADOPT-4: a node that lies decides at most who sits where.
func TestADOPT4LiesDoNotGetIntoATable(t *testing.T) {
	mine := []slots.Endpoint{pod(1, 0, snapshot.Ready), pod(2, 0, snapshot.Drain), pod(3, 0, snapshot.Ready)}
	stranger := netip.MustParseAddr("192.168.66.6")
	lies := &snapshot.Table{Backend: "web", Version: snapshot.Version{Epoch: 1, Number: 7}, Slots: []snapshot.Slot{
		{State: snapshot.Ready, Address: stranger, Port: 666, Weight: 1, Endpoint: "shop/stranger"},
		{State: snapshot.Ready, Address: stranger, Port: 80, Weight: 1, Endpoint: mine[0].Name},                        // the name of one, the address of another
		{State: snapshot.Ready, Address: mine[0].Address, Port: 81, Weight: 1, Endpoint: mine[0].Name},                 // another port
		{State: snapshot.Ready, Address: mine[0].Address, Port: 80, Weight: 7, Endpoint: mine[0].Name},                 // the first, with another weight
		{State: snapshot.Ready, Address: mine[0].Address, Port: 80, Weight: 1, Endpoint: mine[0].Name},                 // and again
		{State: snapshot.Drain, Address: mine[1].Address, Port: 80, Weight: 1, Endpoint: mine[1].Name, Since: 1 << 50}, // draining since tomorrow
		{Since: 1 << 52},
		{},
	}}
	a := adopt(t, snapshot.Version{Epoch: 1, Number: 7}, lies)
	at := snapshot.Version{Epoch: 2, Number: a.Generation + 1}
	got, _, _ := slots.Assign("web", a.Table("web", 4), mine, slots.Policy{}, at)
	wanted := map[string]int{}
	for i, s := range got.Slots {
		if s.Since > at.Number {
			t.Errorf("slot %d counts from %d, and it is %d", i+1, s.Since, at.Number)
		}
		if s.State == snapshot.Free {
			continue
		}
		wanted[fmt.Sprintf("%s %s:%d weight %d %s", s.Endpoint, s.Address, s.Port, s.Weight, s.State)]++
	}
	for _, e := range mine {
		key := fmt.Sprintf("%s %s:%d weight 100 %s", e.Name, e.Address, e.Port, e.State)
		if wanted[key] != 1 {
			t.Errorf("%s is seated %d times", key, wanted[key])
		}
		delete(wanted, key)
	}
	if len(wanted) > 0 {
		t.Errorf("strangers are seated: %v", wanted)
	}
	if s := got.Slots[3]; s.Endpoint != mine[0].Name || s.Weight != 100 {
		t.Errorf("who was told rightly does not keep its place: %+v", s)
	}
}

// ADOPT-4: numbers that a plane could not count on from are told by nobody who has them from a plane.
func TestADOPT4NumbersAreBounded(t *testing.T) {
	a := adopt(t, snapshot.Version{Epoch: 1, Number: 1 << 62}, &snapshot.Table{Backend: "web", Version: snapshot.Version{Epoch: 1, Number: 1 << 62}, Slots: make([]snapshot.Slot, 4)})
	if a.Generation != MaxNumber {
		t.Errorf("the plane would go on from %d", a.Generation)
	}
}

// ADOPT-4: the slots that nodes make the plane reserve beyond what it would by itself are bounded for the fleet as a whole.
func TestADOPT4LengthsAreBoundedTogether(t *testing.T) {
	var tables []*snapshot.Table
	e := pod(1, 0, snapshot.Ready)
	for i := range 10 {
		s := make([]snapshot.Slot, snapshot.MaxSlots)
		s[2] = snapshot.Slot{State: snapshot.Ready, Address: e.Address, Port: 80, Weight: 100, Endpoint: e.Name}
		tables = append(tables, &snapshot.Table{Backend: fmt.Sprint("b", i), Version: snapshot.Version{Epoch: 1, Number: 1}, Slots: s})
	}
	a := adopt(t, snapshot.Version{Epoch: 1, Number: 1}, tables...)
	total := 0
	for i := range 10 {
		name := fmt.Sprint("b", i)
		got := a.Table(name, 4)
		if got.Slots[2].Endpoint != e.Name {
			t.Errorf("%s: its endpoint lost its place", name)
		}
		total += len(got.Slots)
		a.Seated(name, len(got.Slots), 4)
	}
	if total > maxSpare+10*4 {
		t.Errorf("%d slots are reserved", total)
	}
}
