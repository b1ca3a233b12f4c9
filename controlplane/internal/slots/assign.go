package slots

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/berth-proxy/berth/api/snapshot"
)

// Endpoint is one pod's address and port as a backend wants it. Who it is are Name, Address and Port together: a pod that comes back
// under its old name with another address, or another pod that is given an address again, is a newcomer.
type Endpoint struct {
	// Name is namespace/pod, or address:port where no pod is known.
	Name    string
	Address netip.Addr
	Port    uint16
	// Weight is 1 to snapshot.MaxWeight; zero stands for the default.
	Weight uint16
	// State is Ready or Drain. An endpoint of any other state is left out.
	State snapshot.SlotState
}

// identity is what makes an endpoint the same one over time.
type identity struct {
	name    string
	address netip.Addr
	port    uint16
}

func (e Endpoint) identity() identity { return identity{e.Name, e.Address, e.Port} }

func holder(s snapshot.Slot) identity { return identity{s.Endpoint, s.Address, s.Port} }

// Assign seats the endpoints of a backend. prev is its table so far, nil when there is none; it is not altered. at is the generation that the
// step will be. When nothing changes, next is prev and the delta is empty; a table is made even for a backend without endpoints. An endpoint
// that is given twice counts once, ready before draining.
func Assign(
	backend string, prev *snapshot.Table, eps []Endpoint, p Policy, at snapshot.Version,
) (next *snapshot.Table, delta snapshot.TableDelta, changed bool) {
	s := seating{at: at.Number}
	ready, draining := s.keep(prev, eps)
	if prev == nil {
		s.slots = make([]snapshot.Slot, Size(len(ready), p))
		s.free = places(len(s.slots))
	}
	ready = s.seat(ready, s.takeFree, s.takeDraining, s.takeVacated)
	if len(ready) > 0 {
		// Every slot holds a ready endpoint by now, so this is the number of them.
		s.lengthen(Size(len(s.slots)+len(ready), p))
		s.seat(ready, s.takeFree)
	} else {
		s.seat(draining, s.takeFree)
	}

	next = &snapshot.Table{Backend: backend, Version: at, Slots: s.slots}
	if delta, changed = snapshot.DiffTables(prev, next); !changed {
		return prev, snapshot.TableDelta{}, false
	}
	return next, delta, true
}

// seating is one step of one table. The lists of places are in the order in which they are taken.
type seating struct {
	at    uint64
	slots []snapshot.Slot
	// free were free before the step, draining drain on in it, and vacated lose their endpoint by it.
	free, draining, vacated []int
}

// keep starts the step from the table before: endpoints that stay stay where they are, slots of those that go become free. It returns the
// newcomers, in their order.
func (s *seating) keep(prev *snapshot.Table, eps []Endpoint) (ready, draining []Endpoint) {
	wanted := make(map[identity]Endpoint, len(eps))
	for _, e := range eps {
		if first, twice := wanted[e.identity()]; seatable(e) && (!twice || first.State == snapshot.Drain) {
			wanted[e.identity()] = e
		}
	}
	if prev != nil {
		s.slots = slices.Clone(prev.Slots)
		for i := range s.slots {
			s.keepSlot(i, wanted)
		}
		s.sortPlaces(prev.Slots)
	}
	for _, e := range eps {
		e, newcomer := wanted[e.identity()]
		if !newcomer {
			continue
		}
		delete(wanted, e.identity())
		if e.State == snapshot.Ready {
			ready = append(ready, e)
		} else {
			draining = append(draining, e)
		}
	}
	return ready, draining
}

func seatable(e Endpoint) bool { return e.State == snapshot.Ready || e.State == snapshot.Drain }

// keepSlot brings the slot i to what is wanted of its holder now, and takes the holder out of wanted.
func (s *seating) keepSlot(i int, wanted map[identity]Endpoint) {
	slot := &s.slots[i]
	if slot.State == snapshot.Free {
		s.free = append(s.free, i)
		return
	}
	e, stays := wanted[holder(*slot)]
	if !stays {
		*slot = snapshot.Slot{Since: s.at}
		s.vacated = append(s.vacated, i)
		return
	}
	delete(wanted, e.identity())
	since := slot.Since
	if slot.State != e.State {
		since = s.at
	}
	s.fill(i, e, since)
	if e.State == snapshot.Drain {
		s.draining = append(s.draining, i)
	}
}

// sortPlaces puts the places in the order of SLOT-3. before are the slots before the step.
func (s *seating) sortPlaces(before []snapshot.Slot) {
	bySince := func(slots []snapshot.Slot) func(i, j int) int {
		return func(i, j int) int { return cmp.Or(cmp.Compare(slots[i].Since, slots[j].Since), cmp.Compare(i, j)) }
	}
	slices.SortFunc(s.free, bySince(s.slots))
	slices.SortFunc(s.draining, bySince(s.slots))
	slices.SortFunc(s.vacated, func(i, j int) int {
		if before[i].State != before[j].State {
			return cmp.Compare(before[j].State, before[i].State) // Drain, which has no new clients, before Ready
		}
		return bySince(before)(i, j)
	})
}

// seat gives each newcomer a place, from the first of the lists that still has one, and returns those that got none.
func (s *seating) seat(newcomers []Endpoint, take ...func() (int, bool)) []Endpoint {
	for n, e := range newcomers {
		i, found := first(take)
		if !found {
			return newcomers[n:]
		}
		s.fill(i, e, s.at)
	}
	return nil
}

func first(take []func() (int, bool)) (int, bool) {
	for _, t := range take {
		if i, found := t(); found {
			return i, true
		}
	}
	return 0, false
}

// fill writes e into the slot i. since is when it began to drain, if it does.
func (s *seating) fill(i int, e Endpoint, since uint64) {
	slot := snapshot.Slot{State: e.State, Address: e.Address, Port: e.Port, Weight: e.Weight, Endpoint: e.Name}
	if slot.Weight == 0 {
		slot.Weight = snapshot.DefaultWeight
	}
	if e.State == snapshot.Drain {
		slot.Since = since
	}
	s.slots[i] = slot
}

// lengthen adds free slots up to the length.
func (s *seating) lengthen(length int) {
	for i := len(s.slots); i < length; i++ {
		s.slots = append(s.slots, snapshot.Slot{})
		s.free = append(s.free, i)
	}
}

func (s *seating) takeFree() (int, bool)     { return takeFrom(&s.free) }
func (s *seating) takeDraining() (int, bool) { return takeFrom(&s.draining) }
func (s *seating) takeVacated() (int, bool)  { return takeFrom(&s.vacated) }

func takeFrom(list *[]int) (int, bool) {
	if len(*list) == 0 {
		return 0, false
	}
	i := (*list)[0]
	*list = (*list)[1:]
	return i, true
}

// places are the indexes below n.
func places(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
