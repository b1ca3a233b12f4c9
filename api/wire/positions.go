package wire

import (
	"fmt"
	"math"
	"net/netip"

	"google.golang.org/protobuf/proto"

	"github.com/berth-proxy/berth/api/snapshot"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// The limits of an answer to AskPositions.
const (
	MaxPositionFrames = 4096
	MaxPositionBytes  = 64 << 20
	// MaxTold is how many slots may be told of. The lengths of the tables together are bounded by MaxTotalSlots.
	MaxTold = 1 << 20
)

// Positions is what a node tells of the slots that it holds.
type Positions struct {
	// Generation is what the positions are of. Its digest is the sum of those of the tables.
	Generation Mark
	Tables     map[string]*TablePositions
}

// TablePositions is what is told of one table.
type TablePositions struct {
	Version snapshot.Version
	Length  int
	// Digest is what the table adds to that of its generation.
	Digest snapshot.Digest
	// Slots are all but those that have never been taken, by index. They have no weight: whose a slot is has nothing to do with it.
	Slots []SlotPosition
}

// SlotPosition is one slot of a table.
type SlotPosition struct {
	// Index counts from 0.
	Index int
	snapshot.Slot
}

// PositionFrames answers AskPositions, in frames of about size bytes, FrameSize if it is 0.
func PositionFrames(gen *snapshot.Generation, size int) []*fleetv1.Positions {
	if size <= 0 {
		size = FrameSize
	}
	f := positionFramer{size: size}
	f.begin()
	f.now.Generation = MarksOf(nil, gen).Generation.Proto()
	f.used += proto.Size(f.now)
	for t := range gen.All() {
		f.table(t)
	}
	f.now.Last = true
	return f.frames
}

type positionFramer struct {
	size, used int
	frames     []*fleetv1.Positions
	now        *fleetv1.Positions
}

func (f *positionFramer) begin() {
	f.now = &fleetv1.Positions{Frame: count(len(f.frames))}
	f.frames = append(f.frames, f.now)
	f.used = 16
}

func (f *positionFramer) table(t *snapshot.Table) {
	head, digest := len(t.Backend)+96, t.Digest()
	part := func() *fleetv1.TablePositions {
		if f.used > 0 && f.used+head > f.size && len(f.now.GetTables()) > 0 {
			f.begin()
		}
		f.used += head
		p := &fleetv1.TablePositions{Backend: t.Backend, Version: VersionProto(t.Version), Length: count(len(t.Slots)), Digest: digest[:]}
		f.now.Tables = append(f.now.Tables, p)
		return p
	}
	p := part()
	for i, s := range t.Slots {
		if s == (snapshot.Slot{}) {
			continue
		}
		n := len(s.Endpoint) + 48
		if f.used+n > f.size && len(p.GetSlots()) > 0 {
			f.begin()
			p = part()
		}
		f.used += n
		p.Slots = append(p.Slots, &fleetv1.SlotPosition{
			Slot: count(i + 1), Endpoint: s.Endpoint, Address: s.Address.AsSlice(), Port: uint32(s.Port), Since: s.Since,
		})
	}
}

// PositionAssembler puts the frames of one answer together. The zero value is ready. It is not safe for use by several goroutines.
type PositionAssembler struct {
	got                        Positions
	frames, bytes, told, slots int
	sum                        snapshot.Digest
	// open is the table that the next frame may go on with.
	open string
}

// Add takes the next frame. It returns the positions once the last is in. An answer that has had an error is not to be relied on.
func (a *PositionAssembler) Add(p *fleetv1.Positions) (got *Positions, complete bool, err error) {
	if err := a.add(p); err != nil || !p.GetLast() {
		return nil, false, err
	}
	if a.sum != a.got.Generation.Digest {
		return nil, false, invalid("positions", "their tables add up to %s, not to the generation %s", a.sum.Short(), a.got.Generation.Digest.Short())
	}
	done := a.got
	return &done, true, nil
}

func (a *PositionAssembler) add(p *fleetv1.Positions) error {
	if int64(p.GetFrame()) != int64(a.frames) {
		return invalid("positions", "frame %d came, frame %d was to come next", p.GetFrame(), a.frames)
	}
	if a.frames == 0 {
		mark, err := MarkFrom(p.GetGeneration())
		if err != nil {
			return err
		}
		a.got = Positions{Generation: mark, Tables: map[string]*TablePositions{}}
	} else if p.GetGeneration() != nil {
		return invalid("positions", "a mark stands outside of frame 0")
	}
	a.frames++
	a.bytes += proto.Size(p)
	switch {
	case a.frames > MaxPositionFrames:
		return invalid("positions", "more than %d frames", MaxPositionFrames)
	case a.bytes > MaxPositionBytes:
		return invalid("positions", "more than %d bytes", MaxPositionBytes)
	}
	for i, t := range p.GetTables() {
		if err := a.table(t, i == 0); err != nil {
			return err
		}
	}
	return nil
}

// table takes in a table, or a further part of the one that the frame before ended with.
func (a *PositionAssembler) table(p *fleetv1.TablePositions, first bool) error {
	t := a.got.Tables[p.GetBackend()]
	switch {
	case t == nil:
		begun, err := a.begin(p)
		if err != nil {
			return err
		}
		t = begun
	case !first || a.open != p.GetBackend() || t.Length != int(p.GetLength()) || t.Version != VersionFrom(p.GetVersion()) ||
		string(t.Digest[:]) != string(p.GetDigest()) || len(p.GetSlots()) == 0:
		return invalid(positionsOf(p.GetBackend()), "they come twice, and not as parts of one table")
	}
	a.open = p.GetBackend()
	if a.told += len(p.GetSlots()); a.told > MaxTold {
		return invalid("positions", "more than %d slots are told of", MaxTold)
	}
	for _, x := range p.GetSlots() {
		s, err := slotPositionFrom(p.GetBackend(), x, t.Length)
		if err != nil {
			return err
		}
		if n := len(t.Slots); n > 0 && t.Slots[n-1].Index >= s.Index {
			return invalid(slotName(p.GetBackend(), s.Index+1), "it is told twice or out of order")
		}
		t.Slots = append(t.Slots, s)
	}
	return nil
}

func (a *PositionAssembler) begin(p *fleetv1.TablePositions) (*TablePositions, error) {
	name := positionsOf(p.GetBackend())
	if err := snapshot.CheckName(p.GetBackend()); err != nil {
		return nil, invalid(name, "%v", err)
	}
	if p.GetLength() > snapshot.MaxSlots {
		return nil, invalid(name, "%d slots, at most %d are possible", p.GetLength(), snapshot.MaxSlots)
	}
	if a.slots += int(p.GetLength()); a.slots > MaxTotalSlots {
		return nil, invalid("positions", "the tables have more than %d slots", MaxTotalSlots)
	}
	d, err := snapshot.DigestFromBytes(p.GetDigest())
	if err != nil || d.IsZero() {
		return nil, invalid(name, "a digest of %d bytes, want %d that are not all 0", len(p.GetDigest()), snapshot.DigestSize)
	}
	a.sum = a.sum.Add(d)
	t := &TablePositions{Version: VersionFrom(p.GetVersion()), Length: int(p.GetLength()), Digest: d}
	a.got.Tables[p.GetBackend()] = t
	return t, nil
}

func slotPositionFrom(backend string, p *fleetv1.SlotPosition, length int) (SlotPosition, error) {
	n := p.GetSlot()
	fail := func(format string, args ...any) (SlotPosition, error) {
		return SlotPosition{}, invalid(slotName(backend, int(n)), format, args...)
	}
	if n < 1 || int64(n) > int64(length) {
		return fail("the table has %d slots", length)
	}
	if p.GetPort() > math.MaxUint16 || len(p.GetEndpoint()) > snapshot.MaxEndpoint {
		return fail("its port or its endpoint's name is too large")
	}
	s := SlotPosition{Index: int(n) - 1, Slot: snapshot.Slot{Endpoint: p.GetEndpoint(), Since: p.GetSince(), Port: uint16(p.GetPort())}} //nolint:gosec // see above
	if len(p.GetAddress()) == 0 {
		if s.Port != 0 {
			return fail("a port without an address")
		}
		return s, nil
	}
	addr, ok := netip.AddrFromSlice(p.GetAddress())
	if !ok || s.Port == 0 {
		return fail("%d bytes and port %d are no address of an endpoint", len(p.GetAddress()), s.Port)
	}
	s.Address, s.State = addr, snapshot.Ready
	if s.Since != 0 {
		s.State = snapshot.Drain
	}
	return s, nil
}

// checkPositions checks what a single frame can be checked for; the rest is the assembler's.
func checkPositions(p *fleetv1.Positions) error {
	if err := checks("positions", mark(p.GetGeneration())); err != nil {
		return err
	}
	for _, t := range p.GetTables() {
		if len(t.GetBackend()) > snapshot.MaxName {
			return invalid("positions", "the name of a backend has %d bytes, at most %d are possible", len(t.GetBackend()), snapshot.MaxName)
		}
		if err := checks(positionsOf(t.GetBackend()), digest(t.GetDigest())); err != nil {
			return err
		}
	}
	return nil
}

func positionsOf(backend string) string { return fmt.Sprintf("positions of backend %q", backend) }
