package changelog

import (
	"maps"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Kept is what a node holds beside the tables of the log: tables that the plane does not write, because it has not read the source that they come from.
// Digests are sums over tables, so what the node holds without them is a state of the log. It is immutable.
type Kept struct {
	tables map[string]snapshot.Digest
	// gone are those of the tables that the log has taken over since.
	gone map[string]struct{}
	sum  snapshot.Digest
}

// Sum is what the kept tables add to a digest.
func (k *Kept) Sum() snapshot.Digest { return k.sum }

// without is k less the tables that a change writes or takes away.
func (k *Kept) without(d snapshot.GenerationDelta) *Kept {
	next := k
	for backend := range d.Tables {
		digest, there := k.tables[backend]
		if _, gone := next.gone[backend]; !there || gone {
			continue
		}
		if next == k {
			next = &Kept{tables: k.tables, gone: maps.Clone(k.gone), sum: k.sum}
			if next.gone == nil {
				next.gone = map[string]struct{}{}
			}
		}
		next.gone[backend] = struct{}{}
		next.sum = next.sum.Sub(digest)
	}
	return next
}

// Step leads a node that keeps tables of its own to the head, in its generation only.
type Step struct {
	Head *Head
	// Update is nil when there is nothing to send.
	Update *wire.Shared
	// To is what the node holds after it, the kept tables included, and Kept are those.
	To   wire.Mark
	Kept *Kept
}

// Join is the first step of a node that holds tables of these digests, which add up to held: those that the log has and that differ are written whole, and
// the others are kept. It looks at every table, once for all nodes that hold the same.
func (l *Log) Join(held snapshot.Digest, tables map[string]snapshot.Digest) (Step, error) {
	head := l.Head()
	return head.step(request{generation: held, join: true}, func() (wire.Update, *Kept) {
		u := wire.Update{Scope: fleetv1.Scope_SCOPE_CHANGES, Generation: snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{}}}
		u.From.Generation.Digest = held
		kept := &Kept{tables: tables, gone: map[string]struct{}{}, sum: held}
		for t := range head.Generation.All() {
			digest, there := tables[t.Backend]
			if there {
				kept.gone[t.Backend] = struct{}{}
				kept.sum = kept.sum.Sub(digest)
			}
			if !there || digest != t.Digest() {
				u.Generation.Tables[t.Backend], _ = snapshot.DiffTables(nil, t)
			}
		}
		return u, kept
	})
}

// SinceKept is Since of the generation alone, for a node that keeps tables of its own.
func (l *Log) SinceKept(held snapshot.Digest, kept *Kept) (s Step, known bool, err error) {
	own := held.Sub(kept.sum)
	l.mu.Lock()
	head := l.Head()
	base := l.generations[own]
	l.mu.Unlock()
	if base == nil {
		return Step{Head: head}, false, nil
	}
	if own == head.Generation.Digest() {
		return Step{Head: head, To: wire.Mark{Version: head.Generation.Version, Digest: held}, Kept: kept}, true, nil
	}
	s, err = head.step(request{generation: own, kept: kept.sum}, func() (wire.Update, *Kept) {
		u := head.since(bases{generation: base})
		u.From.Generation.Digest = held
		return u, kept.without(u.Generation)
	})
	return s, true, err
}

// step makes the step once for all who ask for the same.
func (h *Head) step(r request, change func() (wire.Update, *Kept)) (Step, error) {
	m := h.updates.get(r, func(m *made) {
		u, kept := change()
		m.kept = kept
		u.To = wire.Marks{Generation: wire.Mark{Version: h.Generation.Version, Digest: h.Generation.Digest().Add(kept.sum)}}
		if u.To.Generation.Digest != u.From.Generation.Digest || len(u.Generation.Tables) > 0 {
			m.shared, m.err = wire.Share(u)
		}
		m.to = u.To.Generation
	})
	return Step{h, m.shared, m.to, m.kept}, m.err
}
