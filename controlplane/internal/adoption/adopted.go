package adoption

import (
	"bytes"
	"maps"
	"slices"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
)

// winner is the table of a backend that is to be adopted so far, and whether somebody has told it differently under the same version.
type winner struct {
	table   *wire.TablePositions
	differs bool
}

// beats says whether the table is to be adopted instead of o. Names of nodes do not count: which of those that hold the same is asked is chance.
func (w winner) beats(o winner) bool {
	if c := w.table.Version.Compare(o.table.Version); c != 0 {
		return c > 0
	}
	return bytes.Compare(w.table.Digest[:], o.table.Digest[:]) < 0
}

// compare takes in an answer (ADOPT-2). A table that is newer than its generation has a version that no plane can have given, and counts as
// old as the generation.
func (f *Fleet) compare(p *wire.Positions) {
	if f.closed {
		return
	}
	for backend, table := range p.Tables {
		if table.Version.Compare(p.Generation.Version) > 0 {
			capped := *table
			capped.Version = p.Generation.Version
			table = &capped
		}
		w := winner{table: table}
		old, there := f.best[backend]
		if there && old.table.Version == table.Version {
			old.differs = old.differs || old.table.Digest != table.Digest
			w.differs, f.best[backend] = old.differs, old
		}
		if there && !w.beats(old) {
			continue
		}
		told := len(table.Slots)
		if there {
			told -= len(old.table.Slots)
		}
		if f.told+told > maxTold {
			continue
		}
		f.told += told
		f.best[backend] = w
	}
}

// maxSpare is how many slots more than the plane would give them the adopted tables of a fleet may have together, so that no node can make all others reserve
// millions of slots.
const maxSpare = 1 << 18

// Adopted is what was told of a fleet. It belongs to the engine.
type Adopted struct {
	// Revision and Generation are the highest numbers that a node has told of, and the plane's own go on above them.
	Revision, Generation uint64
	// Conflicts is how many tables are adopted that were told differently under the same version.
	Conflicts int
	// Nodes is how many nodes were there.
	Nodes int

	tables map[string]*wire.TablePositions
	spare  int
}

// Backends lists the backends of which positions were told, by name.
func (a *Adopted) Backends() []string { return slices.Sorted(maps.Keys(a.tables)) }

// Takes says whether somebody sat in a slot of the backend.
func (a *Adopted) Takes(backend string) bool {
	t := a.tables[backend]
	return t != nil && slices.ContainsFunc(t.Slots, func(s wire.SlotPosition) bool { return s.State != snapshot.Free })
}

// Table is what slots.Assign starts from, nil when nothing was told of the backend: who sat where, since when each slot has been free or draining,
// and the length. Whoever is not wanted now is vacated by Assign, and what is kept of the others is only their place: address, weight and state are those
// of the endpoint that is wanted. size is the length that the plane would give the table.
func (a *Adopted) Table(backend string, size int) *snapshot.Table {
	told := a.tables[backend]
	if told == nil {
		return nil
	}
	length := told.Length
	if more := length - size; more > 0 && a.spare+more > maxSpare {
		length = size
		for _, s := range told.Slots {
			if s.State != snapshot.Free {
				length = max(length, s.Index+1)
			}
		}
	}
	t := &snapshot.Table{Backend: backend, Version: told.Version, Slots: make([]snapshot.Slot, length)}
	for _, s := range told.Slots {
		if s.Index >= length {
			break
		}
		slot := s.Slot
		slot.Since = min(slot.Since, a.Generation)
		if slot.State == snapshot.Free {
			slot = snapshot.Slot{Since: slot.Since}
		}
		t.Slots[s.Index] = slot
	}
	return t
}

// Seated says that the table of a backend has been made, of this length where the plane would have given it size slots: its positions are not needed any longer.
func (a *Adopted) Seated(backend string, length, size int) {
	if a.tables[backend] != nil {
		a.spare += max(0, length-size)
		delete(a.tables, backend)
	}
}
