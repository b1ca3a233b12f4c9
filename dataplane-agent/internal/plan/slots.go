package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
)

// Server is what a worker has on one server line.
type Server struct {
	// State is Free for a server in maintenance.
	State   snapshot.SlotState
	Address netip.AddrPort
	Weight  uint16
}

// Phase orders the commands of a batch, over all of its backends.
type Phase uint8

// The phases, in the order in which they are written. What is in Place gives addresses to servers that take no traffic yet: the worker must show them before the
// next phase is written, because HAProxy answers an address change before it uses the address, and a server that is enabled meanwhile stands at its old one.
const (
	Add Phase = iota
	Place
	Enable
	Maps
	Draining
	Disable
)

// Command is one line for the worker's runtime socket, with the slot that it is for.
type Command struct {
	Phase   Phase
	Line    string
	Backend string
	// Slot is the index of the slot in its table, or -1.
	Slot int
}

// Wanted is what the worker shall have for a slot.
func Wanted(s snapshot.Slot) Server {
	if s.State == snapshot.Free {
		return Server{State: snapshot.Free, Address: snapshot.Placeholder}
	}
	return Server{State: s.State, Address: s.Server(), Weight: s.Weight}
}

// Equal says whether the worker's server is as wanted. The weight of a free slot does not matter: it is written before the slot is used.
func (s Server) Equal(wanted Server) bool {
	if s.State == snapshot.Free && wanted.State == snapshot.Free {
		return s.Address == wanted.Address
	}
	return s == wanted
}

// Table is one backend's part of a plan.
type Table struct {
	Backend string
	// Have are the worker's servers, s1 first. Want is the slot table.
	Have []Server
	Want []snapshot.Slot
	// Options are the backend's server options, for servers that are added.
	Options []string
	// CanAdd says that the worker takes `add server` for this backend.
	CanAdd bool
}

// Commands returns what brings the worker's servers to the table, phase by phase, and the number of slots that the worker lacks and cannot
// be given at run time. A worker's servers beyond the table are made free.
func (t Table) Commands() (commands []Command, missing int) {
	for i, have := range t.Have {
		var want snapshot.Slot
		if i < len(t.Want) {
			want = t.Want[i]
		}
		commands = t.slot(commands, i, have, Wanted(want))
	}
	for i := len(t.Have); i < len(t.Want); i++ {
		if !t.CanAdd {
			missing++
			continue
		}
		commands = t.add(commands, i)
	}
	Sort(commands)
	return commands, missing
}

// Sort puts the commands of one or more backends into the order in which they may be written; inside a phase the order stays.
func Sort(commands []Command) {
	slices.SortStableFunc(commands, func(a, b Command) int { return int(a.Phase) - int(b.Phase) })
}

// slot adds the commands for one server that the worker has.
func (t Table) slot(to []Command, i int, have, want Server) []Command {
	if have.Equal(want) {
		return to
	}
	server := t.Backend + "/" + render.ServerName(i)
	put := func(p Phase, rest string) {
		to = append(to, Command{p, "set server " + server + " " + rest, t.Backend, i})
	}
	address := "addr " + want.Address.Addr().String() + " port " + strconv.Itoa(int(want.Address.Port()))
	weight := "weight " + strconv.Itoa(int(want.Weight))
	switch want.State {
	case snapshot.Ready:
		before := Place
		if have.State == snapshot.Ready {
			before = Enable // it is written over in one command
		}
		if have.Address != want.Address {
			put(before, address)
		}
		if have.Weight != want.Weight {
			put(before, weight)
		}
		if have.State != snapshot.Ready {
			put(Enable, "state ready")
		}
	case snapshot.Drain:
		// From maintenance the address comes first, as it takes no traffic yet; a ready server must stop taking new traffic before it gets the
		// address of an endpoint that goes away. A weight may only rise where the server is already draining.
		if have.State == snapshot.Free && have.Address != want.Address {
			put(Place, address)
		}
		if have.State != snapshot.Drain {
			put(Draining, "state drain")
		}
		if have.State != snapshot.Free && have.Address != want.Address {
			put(Draining, address)
		}
		if have.Weight != want.Weight {
			put(Draining, weight)
		}
	default:
		if have.State != snapshot.Free {
			put(Disable, "state maint")
		}
		if have.Address != want.Address {
			put(Disable, address)
		}
	}
	return to
}

// add adds the commands for a slot that the worker has no server for. A server is added in maintenance, as a free slot, and is then given its endpoint as any free
// slot is: HAProxy 2.6 derives the cookie of a server from its address where the address changes, and gives none to one that was added with it.
func (t Table) add(to []Command, i int) []Command {
	free := snapshot.Slot{}
	words := render.AddServer(t.Backend, i, free, t.Options)
	for n, w := range words {
		words[n] = render.Escape(w)
	}
	put := func(l string) { to = append(to, Command{Add, l, t.Backend, i}) }
	put(strings.Join(words, " "))
	if slices.Contains(t.Options, "check") {
		put("enable health " + t.Backend + "/" + render.ServerName(i))
	}
	have := Wanted(free)
	have.Weight = snapshot.DefaultWeight
	return t.slot(to, i, have, Wanted(t.Want[i]))
}

// Vacate returns the commands that make a slot free whatever it was, for one that HAProxy refused.
func Vacate(backend string, slot int) []Command {
	server := "set server " + backend + "/" + render.ServerName(slot)
	return []Command{
		{Disable, server + " state maint", backend, slot},
		{Disable, fmt.Sprintf("%s addr %s port %d", server, snapshot.Placeholder.Addr(), snapshot.Placeholder.Port()), backend, slot},
	}
}

// Different lists the slots of the worker that are not as the table wants, those that it lacks included, in order.
func Different(have []Server, want []snapshot.Slot) []int {
	var out []int
	for i := range max(len(have), len(want)) {
		var w snapshot.Slot
		if i < len(want) {
			w = want[i]
		}
		if i >= len(have) || !have[i].Equal(Wanted(w)) {
			out = append(out, i)
		}
	}
	return out
}
