package dir

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/source/manifest"
)

// index knows what each file says about which object, and which document is in force. It is a value of Run's goroutine, does no
// I/O, and gathers what changed until flush takes it.
type index struct {
	cluster string
	files   map[string][]*claim
	objects map[source.Key]*standing
	skipped map[string]skip // by apiVersion and kind

	said map[string][]source.Problem // what was reported last, by origin

	touched map[source.Key]struct{}
	stale   map[string]struct{} // origins whose report may have changed
}

// claim is what one document says about an object.
type claim struct {
	file  string
	order int // among the documents of the file
	nth   int // among those of them that are about the same object
	place string

	key      source.Key
	object   source.Object // nil when the document was rejected
	rejected string
	hosts    []string
	class    string // of a rejected Ingress
	anyClass bool
	warnings []string
	kept     string // why the claim stands although the file does not say it any more
}

// standing is an object with the claims on it, in the order in which they win.
type standing struct {
	claims []*claim

	// object is what was delivered, nil when nothing is in force. It came from the nth claim of file.
	object source.Object
	file   string
	nth    int
}

// skip is a kind that is not read, where it was seen first, and in which files it stands.
type skip struct {
	kind  source.Kind
	place string
	files map[string]struct{}
}

// maxSkipped bounds how many kinds of one file are reported as not read.
const maxSkipped = 100

func newIndex(cluster string) *index {
	return &index{
		cluster: cluster, files: map[string][]*claim{}, objects: map[source.Key]*standing{}, skipped: map[string]skip{},
		said: map[string][]source.Problem{}, touched: map[source.Key]struct{}{}, stale: map[string]struct{}{},
	}
}

// printable is the name of a file for people and for protocols that carry text: a name may have any bytes but a slash.
func printable(file string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) {
			return '?'
		}
		return r
	}, file)
}

// set takes what a file says now, in place of what it said before. A file that is gone says nothing.
func (x *index) set(file string, docs []manifest.Document) {
	old := x.files[file]
	claims, kinds, identified := x.claims(file, docs)
	if !identified {
		claims = append(claims, keep(old, claims, len(docs))...)
	}
	for _, c := range old {
		x.leave(c)
	}
	for _, c := range claims {
		x.enter(c)
	}
	x.files[file] = claims
	if len(claims) == 0 {
		delete(x.files, file)
	}
	x.stale[file] = struct{}{}
	x.skip(file, kinds)
}

// claims turns documents into claims, and tells the kinds that are not read, with the place of the first of each. identified is
// false when a document does not say which object it is about.
func (x *index) claims(file string, docs []manifest.Document) (claims []*claim, kinds map[string]manifest.Document, identified bool) {
	kinds, identified = map[string]manifest.Document{}, true
	counts := map[source.Key]int{}
	for i := range docs {
		d := &docs[i]
		if d.Skipped != "" {
			if _, ok := kinds[d.Skipped]; !ok && len(kinds) < maxSkipped {
				kinds[d.Skipped] = *d
			}
			continue
		}
		c := &claim{
			file: file, order: i, place: printable(file) + ":" + d.Place(), object: d.Object, rejected: d.Rejected, hosts: d.Hosts, warnings: d.Warnings,
			class: d.Class, anyClass: d.AnyClass,
		}
		c.key.Cluster = x.cluster
		if d.Identified() {
			c.key.Kind, c.key.Namespace, c.key.Name = d.Key.Kind, d.Key.Namespace, d.Key.Name
			c.nth = counts[c.key]
			counts[c.key]++
		} else {
			identified = false
			if d.Key.Kind != "" {
				c.rejected = fmt.Sprintf("a %s: %s", d.Key.Kind, d.Rejected)
			}
		}
		claims = append(claims, c)
	}
	return claims, kinds, identified
}

// keep carries over the claims on objects that the file no longer speaks of. With a document in it that does not say what it is
// about, nobody can tell that these objects are gone (DIR-3).
func keep(old, claims []*claim, order int) []*claim {
	spoken := map[source.Key]struct{}{}
	for _, c := range claims {
		spoken[c.key] = struct{}{}
	}
	var kept []*claim
	for _, c := range old {
		if _, ok := spoken[c.key]; ok || c.key.Kind == "" {
			continue
		}
		k := *c
		k.order = order + len(kept)
		k.kept = "no longer in " + printable(c.file) + ", but stays in force as it was: another document there does not say which object it is about"
		kept = append(kept, &k)
	}
	return kept
}

func (x *index) enter(c *claim) {
	if c.key.Kind == "" {
		return
	}
	s := x.objects[c.key]
	if s == nil {
		s = &standing{}
		x.objects[c.key] = s
	}
	at, _ := slices.BinarySearchFunc(s.claims, c, compareClaims)
	s.claims = slices.Insert(s.claims, at, c)
	x.touched[c.key] = struct{}{}
}

func (x *index) leave(c *claim) {
	if c.key.Kind == "" {
		return
	}
	s := x.objects[c.key]
	if at, ok := slices.BinarySearchFunc(s.claims, c, compareClaims); ok {
		s.claims = slices.Delete(s.claims, at, at+1)
	}
	x.touched[c.key] = struct{}{}
}

func compareClaims(a, b *claim) int {
	return cmp.Or(strings.Compare(a.file, b.file), cmp.Compare(a.order, b.order))
}

// skip notes which kinds of a file are not read. Each kind is reported once, from the first file to the last.
func (x *index) skip(file string, kinds map[string]manifest.Document) {
	for name, s := range x.skipped {
		if _, ok := kinds[name]; ok {
			continue
		}
		delete(s.files, file)
		if len(s.files) == 0 {
			delete(x.skipped, name)
			x.stale[name] = struct{}{}
		}
	}
	for name, d := range kinds {
		s, ok := x.skipped[name]
		if !ok {
			s = skip{kind: d.Key.Kind, place: printable(file) + ":" + d.Place(), files: map[string]struct{}{}}
			x.skipped[name] = s
			x.stale[name] = struct{}{}
		}
		s.files[file] = struct{}{}
	}
}

// winner is the claim whose object is in force, and that object. A rejected claim stands for the last accepted form that came from
// it; where all are rejected, any last accepted form stays (DIR-3).
func (s *standing) winner() (*claim, source.Object) {
	for _, c := range s.claims {
		if c.object != nil {
			return c, c.object
		}
		if s.object != nil && s.file == c.file && s.nth == c.nth {
			return c, s.object
		}
	}
	if len(s.claims) > 0 && s.object != nil {
		return s.claims[0], s.object
	}
	return nil, nil
}

// flush gives what changed since the last flush.
func (x *index) flush() (put []source.Row, gone []source.Key, reports []source.Report) {
	for _, key := range slices.SortedFunc(maps.Keys(x.touched), compareKeys) {
		s := x.objects[key]
		for _, c := range s.claims {
			x.stale[c.file] = struct{}{}
		}
		won, object := s.winner()
		switch {
		case won == nil && s.object != nil:
			gone = append(gone, key)
			s.object = nil
		case won != nil:
			s.file, s.nth = won.file, won.nth
			if s.object == object {
				break
			}
			if s.object != nil && equality.Semantic.DeepEqual(s.object, object) {
				won.object = s.object // one copy of the same content is enough
				break
			}
			s.object = object
			put = append(put, source.Row{Key: key, Object: object})
		}
		if len(s.claims) == 0 {
			delete(x.objects, key)
		}
	}
	for _, origin := range slices.Sorted(maps.Keys(x.stale)) {
		problems := x.report(origin)
		if reflect.DeepEqual(problems, x.said[origin]) {
			continue
		}
		x.said[origin] = problems
		if len(problems) == 0 {
			delete(x.said, origin)
		}
		reports = append(reports, source.Report{Origin: origin, Problems: slices.Clone(problems)})
	}
	clear(x.touched)
	clear(x.stale)
	return put, gone, reports
}

func compareKeys(a, b source.Key) int {
	return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// delivered counts the objects that are in force.
func (x *index) delivered() (n int) {
	for _, s := range x.objects {
		if s.object != nil {
			n++
		}
	}
	return n
}

// report is everything that there is to say about a file, or about a kind that is not read.
func (x *index) report(origin string) []source.Problem {
	if s, ok := x.skipped[origin]; ok {
		return []source.Problem{{
			Object: source.Key{Cluster: x.cluster, Kind: s.kind}, Severity: source.Skipped, Place: s.place,
			Reason: "objects of " + origin + " are not read",
		}}
	}
	var problems []source.Problem
	for _, c := range x.files[origin] {
		problems = append(problems, x.problems(c)...)
	}
	return problems
}

func (x *index) problems(c *claim) []source.Problem {
	var problems []source.Problem
	say := func(severity source.Severity, reason string) {
		problems = append(problems, source.Problem{Object: c.key, Severity: severity, Place: c.place, Reason: reason})
	}
	for _, w := range c.warnings {
		say(source.Warned, w)
	}
	if c.kept != "" {
		say(source.Warned, c.kept)
	}
	s := x.objects[c.key]
	if s == nil { // the document does not say which object it is about
		say(source.Rejected, c.rejected)
		return problems
	}
	switch won, _ := s.winner(); {
	case won == nil:
		problems = append(problems, source.Problem{
			Object: c.key, Severity: source.Rejected, Place: c.place, Reason: c.rejected, Hosts: c.hosts, Class: c.class, AnyClass: c.anyClass,
		})
	case won != c && c.object != nil:
		say(source.Warned, "the same object stands in "+won.place+", which comes first and is used instead")
	case won != c:
		say(source.Warned, c.rejected+" (this document is not used; "+won.place+" is)")
	case c.object == nil && c.kept == "":
		say(source.Warned, c.rejected+" (the last accepted form stays in force)")
	}
	return problems
}
