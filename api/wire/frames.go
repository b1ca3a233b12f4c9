package wire

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/berth-proxy/berth/api/snapshot"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// The limits of the protocol that are not a resource's own.
const (
	// FrameSize is what a frame aims at, MaxMessage what none exceeds.
	FrameSize  = 64 << 10
	MaxMessage = 4 << 20
	// MaxFrames, MaxUpdate (bytes) and MaxTotalSlots (the lengths of all tables together) bound one update.
	MaxFrames     = 65536
	MaxUpdate     = 256 << 20
	MaxTotalSlots = 4 << 20
)

// itemSize is the most that a resource takes in a frame beside its own bytes: tag and length.
const itemSize = 8

// Frames takes the update apart into frames of about size bytes, FrameSize if size is 0. The frames share memory with the update. The
// error names a resource that breaks a limit.
func Frames(u Update, size int) ([]*fleetv1.Update, error) {
	if err := u.check(); err != nil {
		return nil, err
	}
	if size <= 0 {
		size = FrameSize
	}
	f := &framer{id: u.ID, size: min(size, MaxMessage-snapshot.MaxResource)}
	f.first(u)
	for _, k := range sortedKeys(u.Revision.Changes) {
		if err := f.resource(k, u.Revision.Changes[k]); err != nil {
			return nil, err
		}
	}
	whole := u.Scope != fleetv1.Scope_SCOPE_CHANGES
	for _, backend := range slices.Sorted(maps.Keys(u.Generation.Tables)) {
		t := u.Generation.Tables[backend]
		t.Reset = t.Reset || whole && !t.Removed
		if err := f.table(backend, t); err != nil {
			return nil, err
		}
	}
	f.now.Last = true
	if err := f.check(); err != nil {
		return nil, err
	}
	return f.frames, nil
}

// check refuses what a receiver would refuse of the update as a whole.
func (f *framer) check() error {
	name := "update " + strconv.FormatUint(f.id, 10)
	if len(f.frames) > MaxFrames {
		return invalid(name, "%d frames, at most %d are possible", len(f.frames), MaxFrames)
	}
	bytes := 0
	for _, frame := range f.frames {
		bytes += proto.Size(frame)
	}
	if bytes > MaxUpdate {
		return invalid(name, "%d bytes, at most %d are possible", bytes, MaxUpdate)
	}
	return nil
}

// framer fills one frame after the other.
type framer struct {
	id     uint64
	size   int
	frames []*fleetv1.Update
	now    *fleetv1.Update
	// used is about what the frame takes, empty whether no resource is in it yet.
	used  int
	empty bool
}

func (f *framer) first(u Update) {
	f.begin()
	var from, to Marks
	if u.ChangesRevision() {
		from.Revision, to.Revision = u.From.Revision, u.To.Revision
	}
	if u.ChangesGeneration() {
		from.Generation, to.Generation = u.From.Generation, u.To.Generation
	}
	if u.Scope != fleetv1.Scope_SCOPE_EVERYTHING {
		f.now.From = from.Proto()
	}
	f.now.To = to.Proto()
	f.now.Scope = u.Scope
	for _, b := range u.RevisionBuckets {
		f.now.RevisionBuckets = append(f.now.RevisionBuckets, count(b))
	}
	for _, b := range u.GenerationBuckets {
		f.now.GenerationBuckets = append(f.now.GenerationBuckets, count(b))
	}
	if !u.Seen.IsZero() {
		f.now.Seen = timestamppb.New(u.Seen)
	}
	f.used = proto.Size(f.now)
}

func (f *framer) begin() {
	f.now = &fleetv1.Update{Id: f.id, Frame: count(len(f.frames))}
	f.frames = append(f.frames, f.now)
	f.used, f.empty = 24, true
}

// room makes sure that n bytes more fit, or that they are alone in their frame.
func (f *framer) room(n int) {
	if !f.empty && f.used+n > f.size {
		f.begin()
	}
	f.used += n
	f.empty = false
}

func (f *framer) resource(k snapshot.Key, r snapshot.Resource) error {
	if r == nil {
		return f.removal(k)
	}
	if r.Key() != k {
		return invalid(k.String(), "BUG: %s stands under its key", r.Key())
	}
	if err := snapshot.Check(r); err != nil {
		return invalid(k.String(), "%v", err)
	}
	switch r := r.(type) {
	case *snapshot.Section:
		p := &fleetv1.Section{Type: r.Type, Name: r.Name, Lines: linesProto(r.Lines)}
		f.room(proto.Size(p) + itemSize)
		f.now.Sections = append(f.now.Sections, p)
	case *snapshot.Backend:
		p := &fleetv1.Backend{Name: r.Name, Defaults: r.Defaults, Lines: linesProto(r.Lines), ServerOptions: r.ServerOptions}
		f.room(proto.Size(p) + itemSize)
		f.now.Backends = append(f.now.Backends, p)
	case *snapshot.Map:
		f.room(len(r.Name) + 2 + 2*itemSize)
		f.now.Maps = append(f.now.Maps, &fleetv1.Map{Name: r.Name, Declared: true})
	case *snapshot.MapEntry:
		m := f.mapOf(r.Map, len(r.Name)+len(r.Value)+2*itemSize)
		m.Entries = append(m.Entries, &fleetv1.MapEntry{Key: r.Name, Value: r.Value})
	case *snapshot.Certificate:
		p := &fleetv1.Certificate{Name: r.Name, ServerNames: r.ServerNames, Digest: r.Content[:], Pem: r.PEM}
		f.room(proto.Size(p) + itemSize)
		f.now.Certificates = append(f.now.Certificates, p)
	}
	return nil
}

// mapOf makes room for n bytes of entries and returns the message of their map: the frame's last, or a new one.
func (f *framer) mapOf(name string, n int) *fleetv1.Map {
	f.room(n + len(name) + 2*itemSize)
	if last := len(f.now.Maps) - 1; last >= 0 && f.now.Maps[last].Name == name {
		f.used -= len(name) + 2*itemSize
		return f.now.Maps[last]
	}
	m := &fleetv1.Map{Name: name}
	f.now.Maps = append(f.now.Maps, m)
	return m
}

func (f *framer) removal(k snapshot.Key) error {
	if k.Kind == snapshot.KindMapEntry {
		name, key, _ := strings.Cut(k.Name, "\x00")
		m := f.mapOf(name, len(key)+itemSize)
		m.RemovedKeys = append(m.RemovedKeys, key)
		return nil
	}
	f.room(len(k.Name) + itemSize)
	switch k.Kind {
	case snapshot.KindSection:
		f.now.RemovedSections = append(f.now.RemovedSections, k.Name)
	case snapshot.KindBackend:
		f.now.RemovedBackends = append(f.now.RemovedBackends, k.Name)
	case snapshot.KindMap:
		f.now.RemovedMaps = append(f.now.RemovedMaps, k.Name)
	case snapshot.KindCertificate:
		f.now.RemovedCertificates = append(f.now.RemovedCertificates, k.Name)
	default:
		return invalid(k.String(), "BUG: a resource of this kind cannot travel")
	}
	return nil
}

func (f *framer) table(backend string, t snapshot.TableDelta) error {
	if err := snapshot.CheckName(backend); err != nil {
		return invalid(tableName(backend), "%v", err)
	}
	if t.Removed {
		f.room(len(backend) + itemSize)
		f.now.RemovedTables = append(f.now.RemovedTables, backend)
		return nil
	}
	head := len(backend) + 48
	f.room(head)
	p := f.part(backend, t)
	p.Reset_ = t.Reset
	for _, i := range sortedIndexes(t.Slots) {
		s := t.Slots[i]
		if i < 0 || i >= t.Length {
			continue // it takes no part in the change
		}
		if err := snapshot.CheckSlot(s); err != nil {
			return invalid(slotName(backend, i+1), "%v", err)
		}
		n := len(s.Endpoint) + 64
		if f.used+n > f.size && len(p.Slots) > 0 {
			f.begin()
			f.room(head)
			p = f.part(backend, t)
		}
		f.used += n
		p.Slots = append(p.Slots, slotProto(i, s))
	}
	return nil
}

// part begins the table's message in the current frame.
func (f *framer) part(backend string, t snapshot.TableDelta) *fleetv1.Table {
	p := &fleetv1.Table{Backend: backend, Length: count(t.Length), Version: VersionProto(t.Version)}
	f.now.Tables = append(f.now.Tables, p)
	return p
}

func slotName(backend string, slot int) string {
	return "slot " + strconv.Itoa(slot) + " of backend " + backend
}

func sortedKeys(changes map[snapshot.Key]snapshot.Resource) []snapshot.Key {
	return slices.SortedFunc(maps.Keys(changes), func(a, b snapshot.Key) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}

func sortedIndexes(slots map[int]snapshot.Slot) []int { return slices.Sorted(maps.Keys(slots)) }
