package snapshot

import "net/netip"

// SlotState is the state of one reserved server line.
type SlotState uint8

// The states of a slot. A free slot is a disabled placeholder, a ready one takes traffic, a draining one finishes what it has.
const (
	Free SlotState = iota
	Ready
	Drain
)

func (s SlotState) String() string {
	switch s {
	case Free:
		return "free"
	case Ready:
		return "ready"
	case Drain:
		return "drain"
	default:
		return "unknown"
	}
}

// Placeholder is the address and port of every free slot: TEST-NET-1 of RFC 5737, which is routed nowhere and is no listener of
// any HAProxy, so that a placeholder cannot loop (P3).
var Placeholder = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), 1)

// DefaultWeight is the weight of an endpoint that has no other. MaxWeight is HAProxy's limit.
const (
	DefaultWeight = 100
	MaxWeight     = 256
)

// Slot is one reserved server line of a backend. The zero Slot is free and has never been taken.
type Slot struct {
	State SlotState
	// Address and Port are the endpoint's; they are zero in a free slot, which is rendered as the Placeholder.
	Address netip.Addr
	Port    uint16
	// Weight is 1 to MaxWeight; zero in a free slot.
	Weight uint16
	// Endpoint names who holds the slot: namespace/pod, or address:port where no pod is known.
	Endpoint string
	// Since is the number of the generation that freed the slot or let it drain, so that "free longest" and "draining longest" are the
	// same on every node and over a restart of the plane, without a clock. Zero in a ready slot and in one that was never taken.
	Since uint64
}

// Server returns the address and port of the server line: the endpoint's or the Placeholder.
func (s Slot) Server() netip.AddrPort {
	if s.State == Free {
		return Placeholder
	}
	return netip.AddrPortFrom(s.Address, s.Port)
}

// Table is the slot table of a backend. Index i is the server s(i+1). Tables are never altered once they are in a Generation.
type Table struct {
	Backend string
	// Version is that of the generation that last changed the table. It is in no digest.
	Version Version
	Slots   []Slot
}

// TableDelta is what turns one table into another. It is applied so: a Removed table goes; else the table is cut or
// lengthened by free slots to Length (from nothing if Reset), and then the Slots are set.
type TableDelta struct {
	Removed bool
	Reset   bool
	Length  int
	Version Version
	Slots   map[int]Slot
}

func slotDigest(backend string, index int, s Slot) Digest {
	if s == (Slot{}) {
		return Digest{} // never taken: its place is in the table's length
	}
	c := canonical{b: make([]byte, 0, 128)}
	c.str("slot")
	c.str(backend)
	c.count(index)
	c.num(uint64(s.State))
	addr, _ := s.Address.MarshalBinary()
	c.str(string(addr))
	c.num(uint64(s.Port))
	c.num(uint64(s.Weight))
	c.str(s.Endpoint)
	c.num(s.Since)
	return c.digest()
}

func lengthDigest(backend string, length int) Digest {
	c := canonical{b: make([]byte, 0, 64)}
	c.str("table")
	c.str(backend)
	c.count(length)
	return c.digest()
}

// Digest is what the table adds to the digest of a Generation.
func (t *Table) Digest() Digest {
	d := lengthDigest(t.Backend, len(t.Slots))
	for i, s := range t.Slots {
		d = d.Add(slotDigest(t.Backend, i, s))
	}
	return d
}

// DiffTables returns what turns a into b, either of which may be nil, and whether there is a difference.
func DiffTables(a, b *Table) (TableDelta, bool) {
	if b == nil {
		return TableDelta{Removed: true}, a != nil
	}
	d := TableDelta{Length: len(b.Slots), Version: b.Version, Slots: map[int]Slot{}}
	if a == nil {
		a = &Table{}
		d.Reset = true
	}
	for i, s := range b.Slots {
		var old Slot
		if i < len(a.Slots) {
			old = a.Slots[i]
		}
		if s != old {
			d.Slots[i] = s
		}
	}
	return d, d.Reset || len(d.Slots) > 0 || len(a.Slots) != len(b.Slots)
}

// apply returns the table after d, nil if it is removed, and the change of the digest: what to take off and what to add.
func (t *Table) apply(backend string, d TableDelta) (next *Table, off, on Digest) {
	if t != nil && (d.Removed || d.Reset) {
		off = t.Digest()
		t = nil
	}
	if d.Removed {
		return nil, off, on
	}
	next = &Table{Backend: backend, Version: d.Version, Slots: make([]Slot, d.Length)}
	if t != nil {
		copy(next.Slots, t.Slots)
		for i := d.Length; i < len(t.Slots); i++ {
			off = off.Add(slotDigest(backend, i, t.Slots[i]))
		}
	}
	if t == nil || len(t.Slots) != d.Length {
		on = on.Add(lengthDigest(backend, d.Length))
		if t != nil {
			off = off.Add(lengthDigest(backend, len(t.Slots)))
		}
	}
	for i, s := range d.Slots {
		if i < 0 || i >= d.Length {
			continue
		}
		off = off.Add(slotDigest(backend, i, next.Slots[i]))
		on = on.Add(slotDigest(backend, i, s))
		next.Slots[i] = s
	}
	return next, off, on
}

// merge returns the delta that does d and then e.
func (d TableDelta) merge(e TableDelta) TableDelta {
	if e.Removed || e.Reset {
		return e
	}
	m := TableDelta{Reset: d.Reset || d.Removed, Length: e.Length, Version: e.Version, Slots: make(map[int]Slot, len(d.Slots)+len(e.Slots))}
	before := d.Length
	if d.Removed {
		before = 0
	}
	for i, s := range d.Slots {
		if i < e.Length && i < before {
			m.Slots[i] = s
		}
	}
	// What d cut off and e brings back is free, whatever the table held there before d.
	for i := before; i < e.Length; i++ {
		m.Slots[i] = Slot{}
	}
	for i, s := range e.Slots {
		if i >= 0 && i < e.Length {
			m.Slots[i] = s
		}
	}
	return m
}
