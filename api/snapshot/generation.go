package snapshot

import "iter"

// Generation is the fast half of a fleet's state: the slot tables of every backend of every live revision. It is immutable; the zero
// value is not usable, start from EmptyGeneration.
type Generation struct {
	// Version orders it among the fleet's generations; Digest identifies its content.
	Version Version
	digest  Digest
	tree    tree[*Table]
}

// GenerationDelta is what turns one Generation into another, by the backend's name.
type GenerationDelta struct {
	Tables map[string]TableDelta
}

// EmptyGeneration has no table and the zero Version.
func EmptyGeneration() *Generation { return &Generation{} }

// Digest identifies the content, versions aside.
func (g *Generation) Digest() Digest { return g.digest }

// Len is the number of tables.
func (g *Generation) Len() int { return g.tree.size }

// Table returns the table of a backend, or nil.
func (g *Generation) Table(backend string) *Table {
	t, _ := g.tree.get(backend)
	return t
}

// All walks over the tables by the backend's name.
func (g *Generation) All() iter.Seq[*Table] {
	return func(yield func(*Table) bool) {
		g.tree.walk("", func(_ string, t *Table) bool { return yield(t) })
	}
}

// Apply returns g with the changes made and the given version. Its cost is that of the changed tables.
func (g *Generation) Apply(d GenerationDelta, version Version) *Generation {
	e := g.tree.edit()
	digest := g.digest
	for backend, td := range d.Tables {
		old, _ := e.get(backend)
		next, off, on := old.apply(backend, td)
		digest = digest.Sub(off).Add(on)
		if next == nil {
			e.remove(backend)
		} else {
			e.put(backend, next)
		}
	}
	return &Generation{Version: version, digest: digest, tree: e.tree}
}

// DiffGenerations returns the changes that turn a into b. It looks at every table of both: it is for resuming and for people, never for
// the path of a change.
func DiffGenerations(a, b *Generation) GenerationDelta {
	d := GenerationDelta{Tables: map[string]TableDelta{}}
	if a.tree.root == b.tree.root {
		return d
	}
	for t := range b.All() {
		old := a.Table(t.Backend)
		if old == t {
			continue
		}
		if td, differs := DiffTables(old, t); differs {
			d.Tables[t.Backend] = td
		}
	}
	for t := range a.All() {
		if b.Table(t.Backend) == nil {
			d.Tables[t.Backend] = TableDelta{Removed: true}
		}
	}
	return d
}

// Full returns the changes that build g from nothing.
func (g *Generation) Full() GenerationDelta { return DiffGenerations(EmptyGeneration(), g) }

// Empty says whether the delta changes nothing.
func (d GenerationDelta) Empty() bool { return len(d.Tables) == 0 }

// Slots is the number of slots that the delta names.
func (d GenerationDelta) Slots() int {
	n := 0
	for _, td := range d.Tables {
		n += len(td.Slots)
	}
	return n
}

// Merge returns the delta that does d and then e. Neither is altered.
func (d GenerationDelta) Merge(e GenerationDelta) GenerationDelta {
	m := GenerationDelta{Tables: make(map[string]TableDelta, len(d.Tables)+len(e.Tables))}
	for b, td := range d.Tables {
		m.Tables[b] = td
	}
	for b, td := range e.Tables {
		if first, ok := m.Tables[b]; ok {
			td = first.merge(td)
		}
		m.Tables[b] = td
	}
	return m
}

// BucketDigests returns the digest of each bucket.
func (g *Generation) BucketDigests() []Digest {
	out := make([]Digest, Buckets)
	for t := range g.All() {
		i := bucketOf(kindTable, t.Backend)
		out[i] = out[i].Add(t.Digest())
	}
	return out
}

// InBuckets returns the tables of the buckets that are wanted: what a peer is sent whose digests of these differ.
func (g *Generation) InBuckets(wanted func(bucket int) bool) []*Table {
	var out []*Table
	for t := range g.All() {
		if wanted(bucketOf(kindTable, t.Backend)) {
			out = append(out, t)
		}
	}
	return out
}

// ReplaceBuckets returns the delta that makes the given buckets of g hold exactly these tables. Each of them is written whole.
func (g *Generation) ReplaceBuckets(replaced func(bucket int) bool, with map[string]TableDelta) GenerationDelta {
	d := GenerationDelta{Tables: make(map[string]TableDelta, len(with))}
	for t := range g.All() {
		if replaced(bucketOf(kindTable, t.Backend)) {
			d.Tables[t.Backend] = TableDelta{Removed: true}
		}
	}
	for b, td := range with {
		td.Reset = true
		d.Tables[b] = td
	}
	return d
}
