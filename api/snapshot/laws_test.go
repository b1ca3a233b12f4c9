package snapshot

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Few names and values, so that random values meet: overwrite, remove and equal each other.
var (
	genName = rapid.SampledFrom([]string{"a", "b", "c", "a b", "b c", "shop_web_80"})
	genWord = rapid.SampledFrom([]string{"a", "b", "a b", "it's"})
	genLine = rapid.Custom(func(t *rapid.T) Line { return rapid.SliceOfN(genWord, 1, 3).Draw(t, "line") })
)

func genLines(t *rapid.T) []Line {
	lines := rapid.SliceOfN(genLine, 0, 2).Draw(t, "lines")
	if len(lines) == 0 {
		return nil
	}
	return lines
}

var genResource = rapid.Custom(func(t *rapid.T) Resource {
	name := genName.Draw(t, "name")
	switch Kind(rapid.IntRange(int(KindSection), int(KindCertificate)).Draw(t, "kind")) {
	case KindSection:
		return &Section{Type: rapid.SampledFrom([]string{"global", "a", "a b"}).Draw(t, "type"), Name: name, Lines: genLines(t)}
	case KindBackend:
		return &Backend{Name: name, Defaults: genWord.Draw(t, "defaults"), Lines: genLines(t), ServerOptions: genLine.Draw(t, "options")}
	case KindMap:
		return &Map{Name: name}
	case KindMapEntry:
		return &MapEntry{Map: name, Name: genName.Draw(t, "key"), Value: genWord.Draw(t, "value")}
	default:
		return &Certificate{Name: name, ServerNames: genLine.Draw(t, "names"), Content: PEMDigest([]byte(genWord.Draw(t, "pem")))}
	}
})

var genRevisionDelta = rapid.Custom(func(t *rapid.T) RevisionDelta {
	d := RevisionDelta{Changes: map[Key]Resource{}}
	for _, r := range rapid.SliceOfN(genResource, 0, 12).Draw(t, "resources") {
		d.Changes[r.Key()] = r
		if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
			d.Changes[r.Key()] = nil
		}
	}
	return d
})

var genRevision = rapid.Custom(func(t *rapid.T) *Revision {
	return EmptyRevision().Apply(genRevisionDelta.Draw(t, "content"), Version{1, 1})
})

var genSlot = rapid.Custom(func(t *rapid.T) Slot {
	s := Slot{State: SlotState(rapid.IntRange(0, 2).Draw(t, "state")), Since: uint64(rapid.IntRange(0, 2).Draw(t, "since"))}
	if s.State == Free {
		return s
	}
	s.Address = rapid.SampledFrom([]netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("::ffff:10.0.0.1"), netip.MustParseAddr("fd00::1")}).Draw(t, "address")
	s.Port = uint16(rapid.IntRange(80, 81).Draw(t, "port"))
	s.Weight = uint16(rapid.IntRange(1, 2).Draw(t, "weight"))
	s.Endpoint = rapid.SampledFrom([]string{"shop/a", "shop/b"}).Draw(t, "endpoint")
	return s
})

// genTableDelta draws tables that grow, shrink, go and begin anew.
var genTableDelta = rapid.Custom(func(t *rapid.T) TableDelta {
	if rapid.IntRange(0, 5).Draw(t, "removed") == 0 {
		return TableDelta{Removed: true}
	}
	d := TableDelta{
		Reset: rapid.IntRange(0, 5).Draw(t, "reset") == 0, Length: rapid.IntRange(0, 6).Draw(t, "length"),
		Version: Version{1, uint64(rapid.IntRange(1, 9).Draw(t, "version"))}, Slots: map[int]Slot{},
	}
	for _, i := range rapid.SliceOfN(rapid.IntRange(-1, 7), 0, 4).Draw(t, "indexes") {
		d.Slots[i] = genSlot.Draw(t, "slot")
	}
	return d
})

var genGenerationDelta = rapid.Custom(func(t *rapid.T) GenerationDelta {
	d := GenerationDelta{Tables: map[string]TableDelta{}}
	for _, b := range rapid.SliceOfN(genName, 0, 6).Draw(t, "backends") {
		d.Tables[b] = genTableDelta.Draw(t, "table")
	}
	return d
})

var genGeneration = rapid.Custom(func(t *rapid.T) *Generation {
	g := EmptyGeneration().Apply(genGenerationDelta.Draw(t, "content"), Version{1, 1})
	return g.Apply(genGenerationDelta.Draw(t, "more"), Version{1, 2})
})

// revisionText and generationText write the whole content down without digests or versions.
func revisionText(r *Revision) string {
	out := ""
	for x := range r.All() {
		out += fmt.Sprintf("%q %#v\n", x.Key(), reflect.Indirect(reflect.ValueOf(x)).Interface())
	}
	return out
}

func generationText(g *Generation) string {
	out := ""
	for t := range g.All() {
		out += fmt.Sprintf("%q %d\n", t.Backend, len(t.Slots))
		for _, s := range t.Slots {
			out += fmt.Sprintf("  %+v\n", s)
		}
	}
	return out
}

func sameRevision(t *rapid.T, what string, got, want *Revision) {
	t.Helper()
	if g, w := revisionText(got), revisionText(want); g != w {
		t.Fatalf("%s:\n%s\nwant\n%s", what, g, w)
	}
	if got.Digest() != want.Digest() {
		t.Fatalf("%s: same content, digests %s and %s", what, got.Digest(), want.Digest())
	}
}

func sameGeneration(t *rapid.T, what string, got, want *Generation) {
	t.Helper()
	if g, w := generationText(got), generationText(want); g != w {
		t.Fatalf("%s:\n%s\nwant\n%s", what, g, w)
	}
	if got.Digest() != want.Digest() {
		t.Fatalf("%s: same content, digests %s and %s", what, got.Digest(), want.Digest())
	}
}

func TestSNAP1_Diff(t *testing.T) {
	t.Run("revision", rapid.MakeCheck(func(t *rapid.T) {
		a, b := genRevision.Draw(t, "a"), genRevision.Draw(t, "b")
		sameRevision(t, "apply(a, diff(a, b))", a.Apply(DiffRevisions(a, b), b.Version), b)
		again := EmptyRevision().Apply(a.Full(), a.Version)
		if d := DiffRevisions(a, again); !d.Empty() || !DiffRevisions(a, a).Empty() {
			t.Fatalf("diff(a, a) = %v", d)
		}
	}))
	t.Run("generation", rapid.MakeCheck(func(t *rapid.T) {
		a, b := genGeneration.Draw(t, "a"), genGeneration.Draw(t, "b")
		sameGeneration(t, "apply(a, diff(a, b))", a.Apply(DiffGenerations(a, b), b.Version), b)
		again := EmptyGeneration().Apply(a.Full(), a.Version)
		if d := DiffGenerations(a, again); !d.Empty() || !DiffGenerations(a, a).Empty() {
			t.Fatalf("diff(a, a) = %v", d)
		}
	}))
}

func TestSNAP2_Merge(t *testing.T) {
	t.Run("revision", rapid.MakeCheck(func(t *rapid.T) {
		a, d, e, f := genRevision.Draw(t, "a"), genRevisionDelta.Draw(t, "d"), genRevisionDelta.Draw(t, "e"), genRevisionDelta.Draw(t, "f")
		v := Version{1, 9}
		sameRevision(t, "apply(a, merge(d, e))", a.Apply(d.Merge(e), v), a.Apply(d, v).Apply(e, v))
		if left, right := d.Merge(e).Merge(f), d.Merge(e.Merge(f)); !reflect.DeepEqual(left, right) {
			t.Fatalf("merge is not associative:\n%v\n%v", left, right)
		}
	}))
	t.Run("generation", rapid.MakeCheck(func(t *rapid.T) {
		a, d, e, f := genGeneration.Draw(t, "a"), genGenerationDelta.Draw(t, "d"), genGenerationDelta.Draw(t, "e"), genGenerationDelta.Draw(t, "f")
		v := Version{1, 9}
		stepwise := a.Apply(d, v).Apply(e, v)
		merged := a.Apply(d.Merge(e), v)
		sameGeneration(t, "apply(a, merge(d, e))", merged, stepwise)
		for x := range stepwise.All() {
			if got := merged.Table(x.Backend).Version; got != x.Version {
				t.Fatalf("table %s has version %s after the merge, %s step by step", x.Backend, got, x.Version)
			}
		}
		left, right := a.Apply(d.Merge(e).Merge(f), v), a.Apply(d.Merge(e.Merge(f)), v)
		sameGeneration(t, "merge(merge(d, e), f)", left, right)
		sameGeneration(t, "merge(d, e, f)", left, stepwise.Apply(f, v))
	}))
}

// TestSNAP3_Digest goes to the same content by two ways, of which one takes the changes one by one in a random order.
func TestSNAP3_Digest(t *testing.T) {
	t.Run("revision", rapid.MakeCheck(func(t *rapid.T) {
		a, d := genRevision.Draw(t, "a"), genRevisionDelta.Draw(t, "d")
		b := a.Apply(d, Version{1, 2})
		var scratch Digest
		for x := range b.All() {
			scratch = scratch.Add(ResourceDigest(x))
		}
		if b.Digest() != scratch {
			t.Fatalf("kept digest %s, from scratch %s", b.Digest(), scratch)
		}
		c := a
		for _, k := range shuffled(t, slices.Collect(maps.Keys(d.Changes))) {
			c = c.Apply(RevisionDelta{Changes: map[Key]Resource{k: d.Changes[k]}}, Version{1, 2})
		}
		sameRevision(t, "one by one", c, b)
		if o := genRevision.Draw(t, "other"); (o.Digest() == b.Digest()) != (revisionText(o) == revisionText(b)) {
			t.Fatalf("digests %s and %s of\n%s\nand\n%s", o.Digest(), b.Digest(), revisionText(o), revisionText(b))
		}
	}))
	t.Run("generation", rapid.MakeCheck(func(t *rapid.T) {
		a, d := genGeneration.Draw(t, "a"), genGenerationDelta.Draw(t, "d")
		b := a.Apply(d, Version{1, 2})
		var scratch Digest
		for x := range b.All() {
			scratch = scratch.Add(x.Digest())
		}
		if b.Digest() != scratch {
			t.Fatalf("kept digest %s, from scratch %s", b.Digest(), scratch)
		}
		c := a
		for _, k := range shuffled(t, slices.Collect(maps.Keys(d.Tables))) {
			c = c.Apply(GenerationDelta{Tables: map[string]TableDelta{k: d.Tables[k]}}, Version{1, 2})
		}
		sameGeneration(t, "one by one", c, b)
		if o := genGeneration.Draw(t, "other"); (o.Digest() == b.Digest()) != (generationText(o) == generationText(b)) {
			t.Fatalf("digests %s and %s of\n%s\nand\n%s", o.Digest(), b.Digest(), generationText(o), generationText(b))
		}
	}))
}

// shuffled gives the keys of a map, whose order is random, an order that a failing case can repeat.
func shuffled[K comparable](t *rapid.T, keys []K) []K {
	slices.SortFunc(keys, func(a, b K) int { return slices.Compare([]byte(fmt.Sprint(a)), []byte(fmt.Sprint(b))) })
	if len(keys) < 2 {
		return keys
	}
	return rapid.Permutation(keys).Draw(t, "order")
}

// TestSNAP3_SectionTitle is the pair that had one digest before the title's words were in it.
func TestSNAP3_SectionTitle(t *testing.T) {
	a, b := &Section{Type: "a b", Name: "c"}, &Section{Type: "a", Name: "b c"}
	if ResourceDigest(a) == ResourceDigest(b) {
		t.Fatalf("%#v and %#v have the same digest", a, b)
	}
}

func TestSNAP4_OlderValuesStay(t *testing.T) {
	t.Run("revision", rapid.MakeCheck(func(t *rapid.T) {
		a := genRevision.Draw(t, "a")
		text, digest, n := revisionText(a), a.Digest(), a.Len()
		d, e := genRevisionDelta.Draw(t, "d"), genRevisionDelta.Draw(t, "e")
		before := fmt.Sprint(d)
		a.Apply(d, Version{1, 2}).Apply(e, Version{1, 3})
		a.Apply(d.Merge(e), Version{1, 4})
		if revisionText(a) != text || a.Digest() != digest || a.Len() != n || a.Version != (Version{1, 1}) {
			t.Fatalf("a was altered:\n%s\nfrom\n%s", revisionText(a), text)
		}
		if fmt.Sprint(d) != before {
			t.Fatalf("d was altered by Merge or Apply: %v from %s", d, before)
		}
	}))
	t.Run("generation", rapid.MakeCheck(func(t *rapid.T) {
		a := genGeneration.Draw(t, "a")
		text, digest, n := generationText(a), a.Digest(), a.Len()
		d, e := genGenerationDelta.Draw(t, "d"), genGenerationDelta.Draw(t, "e")
		before := fmt.Sprint(d)
		a.Apply(d, Version{1, 3}).Apply(e, Version{1, 4})
		a.Apply(d.Merge(e), Version{1, 5})
		a.Apply(a.ReplaceBuckets(func(int) bool { return true }, d.Tables), Version{1, 6})
		if generationText(a) != text || a.Digest() != digest || a.Len() != n || a.Version != (Version{1, 2}) {
			t.Fatalf("a was altered:\n%s\nfrom\n%s", generationText(a), text)
		}
		if fmt.Sprint(d) != before {
			t.Fatalf("d was altered by Merge or Apply: %v from %s", d, before)
		}
	}))
}

func TestSNAP5_Buckets(t *testing.T) {
	differ := func(a, b []Digest) func(int) bool { return func(i int) bool { return a[i] != b[i] } }
	sum := func(list []Digest) (s Digest) {
		for _, d := range list {
			s = s.Add(d)
		}
		return s
	}
	t.Run("revision", rapid.MakeCheck(func(t *rapid.T) {
		a, b := genRevision.Draw(t, "a"), genRevision.Draw(t, "b")
		x, y := a.BucketDigests(), b.BucketDigests()
		if sum(x) != a.Digest() {
			t.Fatalf("the buckets add up to %s, the digest is %s", sum(x), a.Digest())
		}
		wanted := differ(x, y)
		sameRevision(t, "replaced", a.Apply(a.ReplaceBuckets(wanted, b.InBuckets(wanted)), b.Version), b)
	}))
	t.Run("generation", rapid.MakeCheck(func(t *rapid.T) {
		a, b := genGeneration.Draw(t, "a"), genGeneration.Draw(t, "b")
		x, y := a.BucketDigests(), b.BucketDigests()
		if sum(x) != a.Digest() {
			t.Fatalf("the buckets add up to %s, the digest is %s", sum(x), a.Digest())
		}
		wanted := differ(x, y)
		with := map[string]TableDelta{}
		for _, table := range b.InBuckets(wanted) {
			with[table.Backend], _ = DiffTables(nil, table)
		}
		sameGeneration(t, "replaced", a.Apply(a.ReplaceBuckets(wanted, with), b.Version), b)
	}))
}
