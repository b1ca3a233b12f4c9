package wire

import (
	"math"
	"net/netip"

	"github.com/berth-proxy/berth/api/snapshot"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

func linesProto(lines []snapshot.Line) []*fleetv1.Line {
	if len(lines) == 0 {
		return nil
	}
	all := make([]fleetv1.Line, len(lines))
	out := make([]*fleetv1.Line, len(lines))
	for i, l := range lines {
		all[i].Words = l
		out[i] = &all[i]
	}
	return out
}

func linesFrom(lines []*fleetv1.Line) []snapshot.Line {
	if len(lines) == 0 {
		return nil
	}
	out := make([]snapshot.Line, len(lines))
	for i, l := range lines {
		out[i] = l.GetWords()
	}
	return out
}

func sectionFrom(p *fleetv1.Section) *snapshot.Section {
	return &snapshot.Section{Type: p.GetType(), Name: p.GetName(), Lines: linesFrom(p.GetLines())}
}

func backendFrom(p *fleetv1.Backend) *snapshot.Backend {
	return &snapshot.Backend{Name: p.GetName(), Defaults: p.GetDefaults(), Lines: linesFrom(p.GetLines()), ServerOptions: p.GetServerOptions()}
}

func certificateFrom(p *fleetv1.Certificate) (*snapshot.Certificate, error) {
	content, err := snapshot.DigestFromBytes(p.GetDigest())
	if err != nil || content.IsZero() {
		return nil, invalid("certificate "+p.GetName(), "its digest has %d bytes, want %d that are not all 0", len(p.GetDigest()), snapshot.DigestSize)
	}
	return &snapshot.Certificate{Name: p.GetName(), ServerNames: p.GetServerNames(), Content: content, PEM: p.GetPem()}, nil
}

var stateProto = [...]fleetv1.SlotState{
	snapshot.Free:  fleetv1.SlotState_SLOT_STATE_FREE,
	snapshot.Ready: fleetv1.SlotState_SLOT_STATE_READY,
	snapshot.Drain: fleetv1.SlotState_SLOT_STATE_DRAIN,
}

// count is a number of slots, a bucket or the like in a message: never negative, and far below the limit of the type.
func count(n int) uint32 { return uint32(n) } //nolint:gosec // see above

// slotProto wants a slot that has been checked.
func slotProto(index int, s snapshot.Slot) *fleetv1.Slot {
	return &fleetv1.Slot{
		Slot:     count(index + 1),
		State:    stateProto[s.State],
		Address:  s.Address.AsSlice(),
		Port:     uint32(s.Port),
		Weight:   uint32(s.Weight),
		Endpoint: s.Endpoint,
		Since:    s.Since,
	}
}

// slotFrom reads a slot of a table of this length.
func slotFrom(backend string, p *fleetv1.Slot, length int) (int, snapshot.Slot, error) {
	n := p.GetSlot()
	fail := func(format string, args ...any) (int, snapshot.Slot, error) {
		return 0, snapshot.Slot{}, invalid(slotName(backend, int(n)), format, args...)
	}
	if n < 1 || int(n) > length {
		return fail("the table has %d slots", length)
	}
	port, weight := p.GetPort(), p.GetWeight()
	if port > math.MaxUint16 || weight > snapshot.MaxWeight {
		return fail("port %d or weight %d is too large", port, weight)
	}
	s := snapshot.Slot{Endpoint: p.GetEndpoint(), Since: p.GetSince(), Port: uint16(port), Weight: uint16(weight)}
	switch p.GetState() {
	case fleetv1.SlotState_SLOT_STATE_FREE:
	case fleetv1.SlotState_SLOT_STATE_READY:
		s.State = snapshot.Ready
	case fleetv1.SlotState_SLOT_STATE_DRAIN:
		s.State = snapshot.Drain
	default:
		return fail("state %d is not known", p.GetState())
	}
	if b := p.GetAddress(); len(b) > 0 {
		addr, ok := netip.AddrFromSlice(b)
		if !ok {
			return fail("an address of %d bytes, want 4 or 16", len(b))
		}
		s.Address = addr
	}
	if err := snapshot.CheckSlot(s); err != nil {
		return fail("%v", err)
	}
	return int(n) - 1, s, nil
}
