package view

import (
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/berth-proxy/berth/api/snapshot"
)

// Parse reads what JSON wrote. Fields that it does not know are left out, so that the output of a later version can be read too.
func Parse(text []byte) (Document, error) {
	var d Document
	if err := json.Unmarshal(text, &d); err != nil {
		return Document{}, fmt.Errorf("it is no output of berthctl render -o json: %w", err)
	}
	return d, nil
}

// Generation gives the slot tables of the document. Its version is the newest step that a slot tells of; the next one comes behind it.
func (d Document) Generation() (*snapshot.Generation, error) {
	delta := snapshot.GenerationDelta{Tables: make(map[string]snapshot.TableDelta, len(d.Backends))}
	var newest uint64
	for _, b := range d.Backends {
		if err := snapshot.CheckName(b.Name); err != nil {
			return nil, fmt.Errorf("a backend: %w", err)
		}
		if _, twice := delta.Tables[b.Name]; twice {
			return nil, fmt.Errorf("backend %s: it stands there twice", b.Name)
		}
		t, err := b.table()
		if err != nil {
			return nil, fmt.Errorf("backend %s: %w", b.Name, err)
		}
		for _, s := range t.Slots {
			newest = max(newest, s.Since)
		}
		delta.Tables[b.Name], _ = snapshot.DiffTables(nil, t)
	}
	return snapshot.EmptyGeneration().Apply(delta, snapshot.Version{Number: newest}), nil
}

func (b Backend) table() (*snapshot.Table, error) {
	if len(b.Slots) > snapshot.MaxSlots {
		return nil, fmt.Errorf("%d slots, at most %d are possible", len(b.Slots), snapshot.MaxSlots)
	}
	t := &snapshot.Table{Backend: b.Name, Slots: make([]snapshot.Slot, len(b.Slots))}
	for i, shown := range b.Slots {
		if shown.Slot != i+1 {
			return nil, fmt.Errorf("slot %d stands in the place of slot %d", shown.Slot, i+1)
		}
		s, err := shown.parse()
		if err != nil {
			return nil, fmt.Errorf("slot %d: %w", i+1, err)
		}
		t.Slots[i] = s
	}
	return t, nil
}

func (s Slot) parse() (snapshot.Slot, error) {
	out := snapshot.Slot{Port: s.Port, Weight: s.Weight, Endpoint: s.Endpoint, Since: s.Since}
	switch s.State {
	case snapshot.Free.String():
		if s.Endpoint != "" {
			return out, fmt.Errorf("it is free and has the endpoint %q", s.Endpoint)
		}
	case snapshot.Ready.String():
		out.State = snapshot.Ready
	case snapshot.Drain.String():
		out.State = snapshot.Drain
	default:
		return out, fmt.Errorf("state %q is not known", s.State)
	}
	if s.Address != "" {
		address, err := netip.ParseAddr(s.Address)
		if err != nil {
			return out, fmt.Errorf("address %q is none", s.Address)
		}
		out.Address = address
	}
	return out, snapshot.CheckSlot(out) //nolint:wrapcheck // Its callers name the slot.
}
