package store

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// Change is what became of one object.
type Change struct {
	source.Key

	// Seen is the earliest time that a source saw one of the changes that are merged here.
	Seen time.Time

	// Before is the object as the consumer knows it, nil when it is new; After is the object now, nil when it is gone.
	// They are the same when only its problems changed.
	Before, After source.Object

	// Problems says that what is reported about the object changed: Read.ProblemsOf has it.
	Problems bool
}

// Changes is what happened since the consumer last asked, merged (STORE-3).
type Changes struct {
	// Objects lists each changed object once, in the order of their keys.
	Objects []Change

	// Sources names the sources whose state changed, or what they report about documents that are no row's, in order.
	Sources []string
}

// Empty says that nothing changed.
func (c Changes) Empty() bool { return len(c.Objects) == 0 && len(c.Sources) == 0 }

// Seen is the earliest time that a source saw one of the changes; zero when no object changed.
func (c Changes) Seen() time.Time {
	var earliest time.Time
	for _, change := range c.Objects {
		if earliest.IsZero() || change.Seen.Before(earliest) {
			earliest = change.Seen
		}
	}
	return earliest
}

// pending gathers changes until the consumer takes them.
type pending struct {
	objects map[source.Key]Change
	sources map[string]struct{}
}

func newPending() *pending {
	return &pending{objects: map[source.Key]Change{}, sources: map[string]struct{}{}}
}

func (p *pending) empty() bool { return len(p.objects) == 0 && len(p.sources) == 0 }

// add merges a later change into the one that waits for the same object.
func (p *pending) add(c Change) {
	if earlier, ok := p.objects[c.Key]; ok {
		c.Before = earlier.Before
		c.Problems = c.Problems || earlier.Problems
		if earlier.Seen.Before(c.Seen) {
			c.Seen = earlier.Seen
		}
	}
	if c.Before == c.After && !c.Problems {
		delete(p.objects, c.Key)
		return
	}
	p.objects[c.Key] = c
}

func (p *pending) merge(later *pending) {
	for _, c := range later.objects {
		p.add(c)
	}
	for name := range later.sources {
		p.sources[name] = struct{}{}
	}
}

func (p *pending) changes() Changes {
	c := Changes{Objects: make([]Change, 0, len(p.objects))}
	for _, change := range p.objects {
		c.Objects = append(c.Objects, change)
	}
	slices.SortFunc(c.Objects, func(a, b Change) int { return compareKeys(a.Key, b.Key) })
	for name := range p.sources {
		c.Sources = append(c.Sources, name)
	}
	slices.Sort(c.Sources)
	return c
}

func compareKeys(a, b source.Key) int {
	return cmp.Or(
		strings.Compare(string(a.Kind), string(b.Kind)),
		strings.Compare(a.Cluster, b.Cluster),
		strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name))
}
