package slots

import (
	"fmt"
	"slices"
	"testing"

	"github.com/berth-proxy/berth/api/snapshot"
)

// Each line of a flow is one step: who is there ("3" ready, "3d" draining, by pod number) and the table after it, one word a slot: "." free,
// else as the endpoint was written.
func TestFlows(t *testing.T) {
	type step struct {
		eps  []string
		want []string
	}
	words := func(w ...string) []string { return w }
	for name, steps := range map[string][]step{
		"a rolling update of one replica walks through the table": {
			{words("1"), words("1", ".", ".", ".")},
			{words("1", "2"), words("1", "2", ".", ".")},
			{words("1d", "2"), words("1d", "2", ".", ".")},
			{words("2"), words(".", "2", ".", ".")},
			{words("2", "3"), words(".", "2", "3", ".")},
			{words("3", "4"), words(".", ".", "3", "4")},
			{words("4", "5"), words("5", ".", ".", "4")},
		},
		"a newcomer does not take the slot that is vacated in the same step": {
			{words("1", "2", "3"), words("1", "2", "3", ".", ".", ".", ".", ".")},
			{words("2", "3", "4"), words(".", "2", "3", "4", ".", ".", ".", ".")},
		},
		"a full table gives up what has drained longest, then what goes in the same step, then grows": {
			{words("1", "2"), words("1", "2", ".", ".")},
			{words("1", "2", "3", "4"), words("1", "2", "3", "4")},
			{words("1", "2d", "3", "4"), words("1", "2d", "3", "4")},
			{words("1d", "2d", "3", "4"), words("1d", "2d", "3", "4")},
			{words("1d", "2d", "3", "4", "5"), words("1d", "5", "3", "4")},
			{words("1d", "2d", "4", "5", "6", "7"), words("6", "5", "7", "4")},
			{words("4", "5", "6", "7", "8"), words("6", "5", "7", "4", "8", ".", ".", ".")},
		},
		"a draining endpoint is shown where there is room": {
			{words("1", "2d"), words("1", "2d", ".", ".")},
			{words("1", "2d", "3d", "4d", "5d"), words("1", "2d", "3d", "4d")},
			{words("1", "2d", "4d", "5d"), words("1", "2d", ".", "4d")},
			{words("1", "2d", "4d", "5d", "6"), words("1", "2d", "6", "4d")},
		},
		"only the terminating are left and take the traffic": {
			{words("1d", "2"), words("2", "1d", ".", ".")},
			{words("1"), words(".", "1", ".", ".")},
		},
		"to zero and back": {
			{words("1"), words("1", ".", ".", ".")},
			{words(), words(".", ".", ".", ".")},
			{words("9"), words(".", "9", ".", ".")},
		},
		"no endpoint yet": {
			{words(), words(".", ".", ".", ".")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var table *snapshot.Table
			for i, s := range steps {
				table, _, _ = Assign("web", table, parse(t, s.eps), Policy{SurgePercent: 25}, snapshot.Version{Epoch: 1, Number: uint64(i + 1)})
				if got := show(table); !slices.Equal(got, s.want) {
					t.Fatalf("step %d with %v: %v, want %v", i+1, s.eps, got, s.want)
				}
			}
		})
	}
}

func parse(t *testing.T, words []string) []Endpoint {
	t.Helper()
	eps := make([]Endpoint, 0, len(words))
	for _, w := range words {
		var n int
		var state string
		if _, err := fmt.Sscanf(w+" ", "%d%s", &n, &state); n == 0 {
			t.Fatalf("%q is no endpoint: %v", w, err)
		}
		e := pod(n)
		if state == "d" {
			e = draining(e)
		}
		eps = append(eps, e)
	}
	return eps
}

func show(table *snapshot.Table) []string {
	out := make([]string, 0, len(table.Slots))
	for _, s := range table.Slots {
		word := "."
		if s.State != snapshot.Free {
			word = s.Endpoint[len("shop/pod-"):]
		}
		if s.State == snapshot.Drain {
			word += "d"
		}
		out = append(out, word)
	}
	return out
}

func pods(n int) []Endpoint {
	eps := make([]Endpoint, n)
	for i := range eps {
		eps[i] = pod(i + 1)
	}
	return eps
}

func TestATableGrowsInFewSteps(t *testing.T) {
	var table *snapshot.Table
	for i, c := range []struct{ endpoints, slots int }{{3, 8}, {9, 12}, {40, 64}, {9, 64}, {1000, 1536}, {1400, 1536}, {0, 1536}} {
		before := table
		table, _, _ = Assign("web", table, pods(c.endpoints), Policy{SurgePercent: 25}, snapshot.Version{Epoch: 1, Number: uint64(i + 1)})
		if len(table.Slots) != c.slots {
			t.Errorf("%d endpoints: %d slots, want %d", c.endpoints, len(table.Slots), c.slots)
		}
		if before != nil && len(before.Slots) > len(table.Slots) {
			t.Errorf("%d endpoints: the table went from %d to %d slots", c.endpoints, len(before.Slots), len(table.Slots))
		}
	}
}

func TestSize(t *testing.T) {
	for _, c := range []struct {
		ready  int
		policy Policy
		want   int
	}{
		{0, Policy{}, 4},
		{1, Policy{SurgePercent: 25}, 4},
		{2, Policy{SurgePercent: 25}, 4},
		{3, Policy{SurgePercent: 25}, 8},
		{5, Policy{SurgePercent: 25}, 8},
		{8, Policy{SurgePercent: 25}, 12},
		{13, Policy{SurgePercent: 25}, 16},
		{15, Policy{SurgePercent: 25}, 24},
		{20, Policy{SurgePercent: 25}, 32},
		{52, Policy{SurgePercent: 25}, 96},
		{100, Policy{SurgePercent: 25}, 128},
		{100, Policy{SurgePercent: 100}, 256},
		{3, Policy{Minimum: 30}, 32},
		{60000, Policy{SurgePercent: 25}, snapshot.MaxSlots},
		{snapshot.MaxSlots + 5, Policy{}, snapshot.MaxSlots},
	} {
		if got := Size(c.ready, c.policy); got != c.want {
			t.Errorf("%d endpoints, %+v: %d slots, want %d", c.ready, c.policy, got, c.want)
		}
	}
}

// A table that cannot be longer leaves out who comes last, and does not forget who is there.
func TestTheLongestTable(t *testing.T) {
	eps := pods(snapshot.MaxSlots + 3)
	table, _, _ := Assign("web", nil, eps, Policy{}, snapshot.Version{Epoch: 1, Number: 1})
	if len(table.Slots) != snapshot.MaxSlots {
		t.Fatalf("%d slots, want %d", len(table.Slots), snapshot.MaxSlots)
	}
	table, _, _ = Assign("web", table, eps[1:], Policy{}, snapshot.Version{Epoch: 1, Number: 2})
	if got, want := table.Slots[0].Endpoint, eps[snapshot.MaxSlots].Name; got != want {
		t.Errorf("slot 1 holds %s, want %s, which had found no place", got, want)
	}
	if got, want := table.Slots[1].Endpoint, eps[1].Name; got != want {
		t.Errorf("slot 2 holds %s, want %s", got, want)
	}
}

// The same endpoint twice counts once, and ready counts before draining, whichever is first.
func TestTwiceCountsOnce(t *testing.T) {
	for _, eps := range [][]Endpoint{{pod(1), draining(pod(1))}, {draining(pod(1)), pod(1)}} {
		table, _, _ := Assign("web", nil, eps, Policy{}, snapshot.Version{Epoch: 1, Number: 1})
		if got := show(table); !slices.Equal(got, []string{"1", ".", ".", "."}) {
			t.Errorf("%v", got)
		}
	}
}

// Another pod at an address that was used before is a newcomer, and so is a pod of the same name at another address.
func TestWhoAnEndpointIs(t *testing.T) {
	first := pod(1)
	named, moved := first, first
	named.Name = "shop/other"
	moved.Port = 9090
	for _, second := range []Endpoint{named, moved} {
		table, _, _ := Assign("web", nil, []Endpoint{first}, Policy{}, snapshot.Version{Epoch: 1, Number: 1})
		table, _, _ = Assign("web", table, []Endpoint{second}, Policy{}, snapshot.Version{Epoch: 1, Number: 2})
		if table.Slots[0].State != snapshot.Free || holder(table.Slots[1]) != second.identity() {
			t.Errorf("%+v came after %+v: %+v", second, first, table.Slots)
		}
	}
}

func BenchmarkAssign(b *testing.B) {
	for _, n := range []int{5, 1000} {
		b.Run(fmt.Sprintf("endpoints=%d", n), func(b *testing.B) {
			eps := pods(n)
			table, _, _ := Assign("web", nil, eps, Policy{SurgePercent: 25}, snapshot.Version{Epoch: 1, Number: 1})
			changed := append(slices.Clone(eps[1:]), pod(n+1))
			b.ReportAllocs()
			for b.Loop() {
				Assign("web", table, changed, Policy{SurgePercent: 25}, snapshot.Version{Epoch: 1, Number: 2})
			}
		})
	}
}
