package wire

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/berth-proxy/berth/api/snapshot"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Assembler puts the frames of updates together, one update after the other. The zero value is ready. It is not safe for use by
// several goroutines.
type Assembler struct {
	// last is the id of the update that came before, if one did.
	last uint64
	// now is the update under way, nil between two of them.
	now *assembly
}

// assembly is the part of an update that is in.
type assembly struct {
	update Update
	frames uint32
	bytes  int
	slots  int
}

// Add takes the next frame. It returns the update once its last frame is in. After an error nothing of the update is kept and the
// stream it came from cannot be relied on. The update shares memory with its frames.
func (a *Assembler) Add(p *fleetv1.Update) (u Update, complete bool, err error) {
	if err := a.add(p); err != nil {
		a.now = nil
		return Update{}, false, err
	}
	if !p.GetLast() {
		return Update{}, false, nil
	}
	u, a.last, a.now = a.now.update, a.now.update.ID, nil
	if err := u.check(); err != nil {
		return Update{}, false, err
	}
	return u, true, nil
}

func (a *Assembler) add(p *fleetv1.Update) error {
	name := fmt.Sprintf("frame %d of update %d", p.GetFrame(), p.GetId())
	if a.now == nil {
		if p.GetFrame() != 0 {
			return invalid(name, "frame 0 was to come first")
		}
		if a.last != 0 && p.GetId() != a.last+1 {
			return invalid(name, "update %d was to come next", a.last+1)
		}
		now, err := begin(p)
		if err != nil {
			return err
		}
		a.now = now
	} else {
		if p.GetId() != a.now.update.ID || p.GetFrame() != a.now.frames {
			return invalid(name, "frame %d of update %d was to come next", a.now.frames, a.now.update.ID)
		}
		if headed(p) {
			return invalid(name, "marks, scope, buckets or time stand outside of frame 0")
		}
	}
	return a.now.add(name, p)
}

// headed says whether the frame has what only frame 0 may have.
func headed(p *fleetv1.Update) bool {
	return p.From != nil || p.To != nil || p.Scope != 0 || p.Seen != nil || len(p.RevisionBuckets) > 0 || len(p.GenerationBuckets) > 0
}

// begin reads what only frame 0 has.
func begin(p *fleetv1.Update) (*assembly, error) {
	name := fmt.Sprintf("update %d", p.GetId())
	u := Update{ID: p.GetId(), Scope: p.GetScope()}
	var err error
	if u.From, err = MarksFrom(p.GetFrom()); err != nil {
		return nil, err
	}
	if u.To, err = MarksFrom(p.GetTo()); err != nil {
		return nil, err
	}
	if u.RevisionBuckets, err = bucketsFrom(name, p.GetRevisionBuckets()); err != nil {
		return nil, err
	}
	if u.GenerationBuckets, err = bucketsFrom(name, p.GetGenerationBuckets()); err != nil {
		return nil, err
	}
	if p.GetSeen() != nil {
		if err := p.GetSeen().CheckValid(); err != nil {
			return nil, invalid(name, "seen: %v", err)
		}
		u.Seen = p.GetSeen().AsTime()
	}
	u.Revision.Changes = make(map[snapshot.Key]snapshot.Resource)
	u.Generation.Tables = make(map[string]snapshot.TableDelta)
	return &assembly{update: u}, nil
}

func bucketsFrom(name string, list []uint32) ([]int, error) {
	if len(list) > snapshot.Buckets {
		return nil, invalid(name, "%d buckets are named, there are %d", len(list), snapshot.Buckets)
	}
	var out []int
	for _, b := range list {
		out = append(out, int(b))
	}
	return out, checkBuckets(name, out)
}

func (a *assembly) add(name string, p *fleetv1.Update) error {
	size := proto.Size(p)
	a.bytes += size
	a.frames++
	switch {
	case size > MaxMessage:
		return invalid(name, "%d bytes, at most %d are possible", size, MaxMessage)
	case a.frames > MaxFrames:
		return invalid(name, "at most %d frames are possible", MaxFrames)
	case a.bytes > MaxUpdate:
		return invalid(name, "%d bytes with those before, at most %d are possible", a.bytes, MaxUpdate)
	}
	for _, add := range []func(*fleetv1.Update) error{a.resources, a.maps, a.removals, a.tables} {
		if err := add(p); err != nil {
			return err
		}
	}
	return nil
}

// put takes in a resource, or with nil its removal.
func (a *assembly) put(k snapshot.Key, r snapshot.Resource) error {
	if r != nil {
		if err := snapshot.Check(r); err != nil {
			return invalid(k.String(), "%v", err)
		}
	}
	if _, ok := a.update.Revision.Changes[k]; ok {
		return invalid(k.String(), "it comes twice in update %d", a.update.ID)
	}
	a.update.Revision.Changes[k] = r
	return nil
}

func (a *assembly) resources(p *fleetv1.Update) error {
	for _, x := range p.GetSections() {
		s := sectionFrom(x)
		if err := a.put(s.Key(), s); err != nil {
			return err
		}
	}
	for _, x := range p.GetBackends() {
		b := backendFrom(x)
		if err := a.put(b.Key(), b); err != nil {
			return err
		}
	}
	for _, x := range p.GetCertificates() {
		c, err := certificateFrom(x)
		if err != nil {
			return err
		}
		if err := a.put(c.Key(), c); err != nil {
			return err
		}
	}
	return nil
}

func (a *assembly) maps(p *fleetv1.Update) error {
	for _, x := range p.GetMaps() {
		m := &snapshot.Map{Name: x.GetName()}
		if err := snapshot.Check(m); err != nil {
			return invalid(m.Key().String(), "%v", err)
		}
		if x.GetDeclared() {
			if err := a.put(m.Key(), m); err != nil {
				return err
			}
		}
		for _, y := range x.GetEntries() {
			e := &snapshot.MapEntry{Map: x.GetName(), Name: y.GetKey(), Value: y.GetValue()}
			if err := a.put(e.Key(), e); err != nil {
				return err
			}
		}
		for _, key := range x.GetRemovedKeys() {
			if err := a.remove(snapshot.EntryKey(x.GetName(), key), snapshot.MaxMapText); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *assembly) removals(p *fleetv1.Update) error {
	for _, list := range []struct {
		kind  snapshot.Kind
		names []string
		limit int
	}{
		{snapshot.KindSection, p.GetRemovedSections(), 2*snapshot.MaxName + 1},
		{snapshot.KindBackend, p.GetRemovedBackends(), snapshot.MaxName},
		{snapshot.KindMap, p.GetRemovedMaps(), snapshot.MaxName},
		{snapshot.KindCertificate, p.GetRemovedCertificates(), snapshot.MaxEndpoint},
	} {
		for _, name := range list.names {
			if err := a.remove(snapshot.Key{Kind: list.kind, Name: name}, list.limit); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *assembly) remove(k snapshot.Key, limit int) error {
	if len(k.Name) > snapshot.MaxName+1+limit {
		return invalid(k.Kind.String()+" to remove", "its key has %d bytes, at most %d are possible", len(k.Name), limit)
	}
	return a.put(k, nil)
}

func (a *assembly) tables(p *fleetv1.Update) error {
	for _, x := range p.GetTables() {
		if err := a.table(x); err != nil {
			return err
		}
	}
	for _, backend := range p.GetRemovedTables() {
		if err := snapshot.CheckName(backend); err != nil {
			return invalid(tableName(backend), "%v", err)
		}
		if _, ok := a.update.Generation.Tables[backend]; ok {
			return invalid(tableName(backend), "it comes twice in update %d", a.update.ID)
		}
		a.update.Generation.Tables[backend] = snapshot.TableDelta{Removed: true}
	}
	return nil
}

// table takes in a table or a further part of one, which has the same length and version and other slots.
func (a *assembly) table(p *fleetv1.Table) error {
	name := tableName(p.GetBackend())
	if p.GetLength() > snapshot.MaxSlots {
		return invalid(name, "%d slots, at most %d are possible", p.GetLength(), snapshot.MaxSlots)
	}
	t, begun := a.update.Generation.Tables[p.GetBackend()]
	if begun {
		if t.Removed || p.GetReset_() || t.Length != int(p.GetLength()) || t.Version != VersionFrom(p.GetVersion()) || len(p.GetSlots()) == 0 {
			return invalid(name, "it comes twice in update %d, and not as parts of one change", a.update.ID)
		}
	} else {
		if err := snapshot.CheckName(p.GetBackend()); err != nil {
			return invalid(name, "%v", err)
		}
		if a.slots += int(p.GetLength()); a.slots > MaxTotalSlots {
			return invalid(name, "the tables of update %d have more than %d slots", a.update.ID, MaxTotalSlots)
		}
		t = snapshot.TableDelta{
			Reset: p.GetReset_(), Length: int(p.GetLength()), Version: VersionFrom(p.GetVersion()),
			Slots: make(map[int]snapshot.Slot, len(p.GetSlots())),
		}
		a.update.Generation.Tables[p.GetBackend()] = t
	}
	for _, x := range p.GetSlots() {
		i, s, err := slotFrom(p.GetBackend(), x, t.Length)
		if err != nil {
			return err
		}
		if _, ok := t.Slots[i]; ok {
			return invalid(slotName(p.GetBackend(), i+1), "it comes twice in update %d", a.update.ID)
		}
		t.Slots[i] = s
	}
	return nil
}
