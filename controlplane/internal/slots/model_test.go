package slots

import (
	"fmt"
	"net/netip"

	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/snapshot"
)

// model seats newcomers as slowly and plainly as the rules can be written: each one looks at every slot and takes the best.
func model(prev *snapshot.Table, eps []Endpoint, p Policy, at uint64) []snapshot.Slot {
	wanted := map[identity]Endpoint{}
	ready := 0
	for _, e := range eps {
		wanted[e.identity()] = e
		if e.State == snapshot.Ready {
			ready++
		}
	}
	var before []snapshot.Slot
	if prev == nil {
		before = make([]snapshot.Slot, Size(ready, p))
	} else {
		before = prev.Slots
	}
	after := make([]snapshot.Slot, len(before))
	seated := map[identity]bool{}
	for i, s := range before {
		e, stays := wanted[holder(s)]
		switch {
		case s.State == snapshot.Free:
			after[i] = s
		case stays:
			after[i] = modelSlot(e, at)
			if s.State == e.State {
				after[i].Since = s.Since
			}
			seated[e.identity()] = true
		default:
			after[i] = snapshot.Slot{Since: at}
		}
	}
	// rank orders the places; a lower one is taken first, 0 is none.
	rank := func(i int) int {
		switch {
		case i >= len(before):
			if after[i].State == snapshot.Free {
				return 5
			}
			return 0
		case before[i].State == snapshot.Free && after[i].State == snapshot.Free:
			return 1 // also each slot of a table that is made
		case before[i].State != snapshot.Free && after[i].State == snapshot.Drain && holder(before[i]) == holder(after[i]):
			return 2
		case after[i].State == snapshot.Free && before[i].State == snapshot.Drain:
			return 3
		case after[i].State == snapshot.Free:
			return 4
		}
		return 0
	}
	since := func(i int) uint64 {
		if i < len(before) && after[i].State == snapshot.Free && before[i].State == snapshot.Drain {
			return before[i].Since
		}
		return after[i].Since
	}
	best := func(limit int) int {
		found := -1
		for i := range after {
			r := rank(i)
			if r == 0 || r > limit {
				continue
			}
			if found < 0 || r < rank(found) || r == rank(found) && since(i) < since(found) {
				found = i
			}
		}
		return found
	}
	grown := false
	for _, state := range []snapshot.SlotState{snapshot.Ready, snapshot.Drain} {
		for _, e := range eps {
			if seated[e.identity()] || e.State != state {
				continue
			}
			limit := 5
			if state == snapshot.Drain {
				limit = 1
			}
			i := best(limit)
			if i < 0 && state == snapshot.Ready && !grown {
				after = append(after, make([]snapshot.Slot, Size(ready, p)-len(after))...)
				grown = true
				i = best(limit)
			}
			if i >= 0 {
				after[i] = modelSlot(e, at)
				seated[e.identity()] = true
			}
		}
	}
	return after
}

func modelSlot(e Endpoint, at uint64) snapshot.Slot {
	s := snapshot.Slot{State: e.State, Address: e.Address, Port: e.Port, Weight: e.Weight, Endpoint: e.Name}
	if e.State == snapshot.Drain {
		s.Since = at
	}
	return s
}

// pod is the endpoint number n, ready.
func pod(n int) Endpoint {
	return Endpoint{
		Name:    fmt.Sprintf("shop/pod-%d", n),
		Address: netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}),
		Port:    8080, Weight: snapshot.DefaultWeight, State: snapshot.Ready,
	}
}

func draining(e Endpoint) Endpoint {
	e.State = snapshot.Drain
	return e
}

// world is a service whose pods come, drain, come back and go at random.
type world struct {
	next int
	eps  []Endpoint
}

// step changes some of the endpoints.
func (w *world) step(t *rapid.T) {
	var eps []Endpoint
	for _, e := range w.eps {
		switch rapid.IntRange(0, 9).Draw(t, "fate") {
		case 0:
			continue
		case 1:
			e.State = snapshot.Drain
		case 2:
			e.State = snapshot.Ready
		case 3:
			e.Weight = uint16(rapid.IntRange(1, snapshot.MaxWeight).Draw(t, "weight"))
		}
		eps = append(eps, e)
	}
	for range rapid.IntRange(0, 4).Draw(t, "newcomers") {
		e := pod(w.next)
		w.next++
		if rapid.IntRange(0, 5).Draw(t, "drains") == 0 {
			e = draining(e)
		}
		eps = append(eps, e)
	}
	w.eps = rapid.Permutation(eps).Draw(t, "order")
}

func anyPolicy() *rapid.Generator[Policy] {
	return rapid.Custom(func(t *rapid.T) Policy {
		return Policy{Minimum: rapid.IntRange(0, 20).Draw(t, "minimum"), SurgePercent: rapid.IntRange(0, 100).Draw(t, "surge")}
	})
}
