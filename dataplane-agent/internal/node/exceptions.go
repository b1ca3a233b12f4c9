package node

import (
	"slices"
	"strings"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// exceptions are the slots that HAProxy or the node itself refused, by backend and index, each with what was wanted then. They stay free in the worker.
type exceptions struct {
	slots map[string]map[int]exception
	// news says that they have changed since they were last told.
	news bool
}

type exception struct {
	slot    snapshot.Slot
	code    fleetv1.Code
	message string
}

// add notes that a slot is refused, and says whether that is new.
func (x *exceptions) add(backend string, index int, e exception) bool {
	if x.slots[backend][index] == e {
		return false
	}
	if x.slots == nil {
		x.slots = map[string]map[int]exception{}
	}
	if x.slots[backend] == nil {
		x.slots[backend] = map[int]exception{}
	}
	x.slots[backend][index] = e
	x.news = true
	return true
}

// settle forgets what is no longer wanted of a backend, whose table is nil if it is gone.
func (x *exceptions) settle(backend string, t *snapshot.Table) {
	x.drop(backend, func(index int, e exception) bool {
		return t == nil || index >= len(t.Slots) || t.Slots[index] != e.slot
	})
}

// forget drops all exceptions of the given code.
func (x *exceptions) forget(code fleetv1.Code) {
	for backend := range x.slots {
		x.drop(backend, func(_ int, e exception) bool { return e.code == code })
	}
}

func (x *exceptions) drop(backend string, gone func(int, exception) bool) {
	of := x.slots[backend]
	for index, e := range of {
		if gone(index, e) {
			delete(of, index)
			x.news = true
		}
	}
	if of != nil && len(of) == 0 {
		delete(x.slots, backend)
	}
}

// free is the table's slots, the refused ones free.
func (x *exceptions) free(t *snapshot.Table) []snapshot.Slot {
	slots := t.Slots
	copied := false
	for index, e := range x.slots[t.Backend] {
		if index >= len(slots) || slots[index] != e.slot {
			continue
		}
		if !copied {
			slots, copied = slices.Clone(slots), true
		}
		slots[index] = snapshot.Slot{}
	}
	return slots
}

// without is the generation with the slots free that are refused with the given code.
func (x *exceptions) without(code fleetv1.Code, gen *snapshot.Generation) *snapshot.Generation {
	d := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{}}
	for backend, of := range x.slots {
		t := gen.Table(backend)
		for index, e := range of {
			if e.code != code || t == nil || index >= len(t.Slots) {
				continue
			}
			td, ok := d.Tables[backend]
			if !ok {
				td = snapshot.TableDelta{Length: len(t.Slots), Version: t.Version, Slots: map[int]snapshot.Slot{}}
				d.Tables[backend] = td
			}
			td.Slots[index] = snapshot.Slot{}
		}
	}
	if d.Empty() {
		return gen
	}
	return gen.Apply(d, gen.Version)
}

// proto lists them in order, as many as a message may have.
func (x *exceptions) proto() []*fleetv1.ExceptedSlot {
	var out []*fleetv1.ExceptedSlot
	for backend, of := range x.slots {
		for index, e := range of {
			out = append(out, &fleetv1.ExceptedSlot{Backend: backend, Slot: uint32(index + 1), Code: e.code, Message: wire.Text(e.message)}) //nolint:gosec // An index.
		}
	}
	slices.SortFunc(out, func(a, b *fleetv1.ExceptedSlot) int {
		if c := strings.Compare(a.GetBackend(), b.GetBackend()); c != 0 {
			return c
		}
		return int(a.GetSlot()) - int(b.GetSlot())
	})
	return out[:min(len(out), wire.MaxExcepted)]
}
