package worker

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
)

// readMaps asks the worker for the entries that were changed.
func (w *Worker) readMaps(ctx context.Context, changes []plan.MapChange, out *Outcome) error {
	if len(changes) == 0 {
		return nil
	}
	lines := make([]string, len(changes))
	for i, c := range changes {
		lines[i] = "get map " + render.MapFile(c.Map) + " " + render.Escape(c.Key)
	}
	replies, err := w.conn.Do(ctx, lines)
	if err != nil {
		return fmt.Errorf("read back %d map entries of worker %d: %w", len(lines), w.Process.PID, err)
	}
	for i, r := range replies {
		c := changes[i]
		value, found := haproxy.ParseMapEntry(r.Text, c.Key)
		if r.Err == nil && found != c.Gone && (c.Gone || value == c.Value) {
			continue
		}
		if !slices.Contains(out.Maps, c.Map) {
			out.Maps = append(out.Maps, c.Map)
		}
	}
	return nil
}

// CheckMap says whether the worker's map holds exactly these entries.
func (w *Worker) CheckMap(ctx context.Context, name string, entries iter.Seq[*snapshot.MapEntry]) (bool, error) {
	has, err := w.conn.Map(ctx, render.MapFile(name))
	if err != nil {
		return false, fmt.Errorf("read map %s of worker %d: %w", name, w.Process.PID, err)
	}
	values := make(map[string]string, len(has))
	for _, e := range has {
		values[e.Key] = e.Value
	}
	n := 0
	for e := range entries {
		if value, ok := values[e.Name]; !ok || value != e.Value {
			return false, nil
		}
		n++
	}
	return n == len(has), nil
}

// ReplaceMap makes the worker's map hold exactly these entries in one step, and reads it back.
func (w *Worker) ReplaceMap(ctx context.Context, name string, entries iter.Seq[*snapshot.MapEntry]) error {
	var pairs []haproxy.MapEntry
	for e := range entries {
		pairs = append(pairs, haproxy.MapEntry{Key: e.Name, Value: e.Value})
	}
	if err := w.conn.ReplaceMap(ctx, render.MapFile(name), pairs); err != nil {
		return fmt.Errorf("replace map %s of worker %d: %w", name, w.Process.PID, err)
	}
	same, err := w.CheckMap(ctx, name, entries)
	if err != nil {
		return err
	}
	if !same {
		return fmt.Errorf("replace map %s of worker %d: %w", name, w.Process.PID, ErrNotVisible)
	}
	return nil
}

// ErrNotVisible means that the worker took a change and does not show it.
var ErrNotVisible = errors.New("the worker does not show what was written")
