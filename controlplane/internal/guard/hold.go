package guard

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// The times of a hold.
const (
	// Hold is how long a removal is held back after it grew last.
	Hold = 10 * time.Second
	// Bound is how long it is held back at most, however much it grows.
	Bound = 60 * time.Second
)

// hold is what is held back of one source: nothing, when keys is empty. It is told the time.
type hold struct {
	keys         map[source.Key]struct{}
	since, until time.Time
}

// begin holds a loss back.
func (h *hold) begin(loss []source.Key, now time.Time) {
	*h = hold{keys: map[source.Key]struct{}{}, since: now}
	h.grow(loss, now)
}

// grow adds a loss, and the time starts again, up to a bound (GUARD-3).
func (h *hold) grow(loss []source.Key, now time.Time) {
	for _, k := range loss {
		h.keys[k] = struct{}{}
	}
	h.until = now.Add(Hold)
	if last := h.since.Add(Bound); last.Before(h.until) {
		h.until = last
	}
}

// back takes out what is put again, and says how much that was (GUARD-4).
func (h *hold) back(put []source.Row) (n int) {
	for _, row := range put {
		if len(h.keys) == 0 {
			break
		}
		if _, held := h.keys[row.Key]; held {
			delete(h.keys, row.Key)
			n++
		}
	}
	return n
}

// forget takes out what an operator's batch removes.
func (h *hold) forget(b source.Batch) {
	if b.Full {
		*h = hold{}
	}
	for _, k := range b.Gone {
		delete(h.keys, k)
	}
}

// active says whether anything is held back.
func (h *hold) active() bool { return len(h.keys) > 0 }

// due says whether it is time to apply what is held.
func (h *hold) due(now time.Time) bool { return h.active() && !now.Before(h.until) }

// sorted lists what is held, in the order of namespaces and names.
func (h *hold) sorted() []source.Key { return slices.SortedFunc(maps.Keys(h.keys), compareKeys) }

func compareKeys(a, b source.Key) int {
	return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
