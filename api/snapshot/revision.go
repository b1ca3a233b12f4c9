package snapshot

import "iter"

// Revision is the slow half of a fleet's state: all that a running worker may need a reload for. It is immutable; the zero value is not
// usable, start from EmptyRevision.
type Revision struct {
	// Version orders it among the fleet's revisions; Digest identifies its content.
	Version Version
	digest  Digest
	tree    tree[*element]
}

// element is a resource with its own digest, so that taking it out costs no hashing of the old one.
type element struct {
	resource Resource
	digest   Digest
}

// RevisionDelta is what turns one Revision into another. A nil resource takes the key away.
type RevisionDelta struct {
	Changes map[Key]Resource
}

// EmptyRevision has no resource and the zero Version.
func EmptyRevision() *Revision { return &Revision{} }

// Digest identifies the content, the Version aside.
func (r *Revision) Digest() Digest { return r.digest }

// Len is the number of resources.
func (r *Revision) Len() int { return r.tree.size }

// order is the key in the tree: resources are sorted by kind, then name.
func (k Key) order() string { return string([]byte{byte(k.Kind)}) + k.Name }

// Get returns the resource of that key, or nil.
func (r *Revision) Get(k Key) Resource {
	e, ok := r.tree.get(k.order())
	if !ok {
		return nil
	}
	return e.resource
}

// Backend returns the backend of that name, or nil.
func (r *Revision) Backend(name string) *Backend {
	b, _ := r.Get(Key{KindBackend, name}).(*Backend)
	return b
}

// All walks over the resources by kind, then name.
func (r *Revision) All() iter.Seq[Resource] {
	return func(yield func(Resource) bool) { r.walk("", yield) }
}

// Entries walks over one map's entries by key.
func (r *Revision) Entries(mapName string) iter.Seq[*MapEntry] {
	return func(yield func(*MapEntry) bool) {
		r.walk(EntryKey(mapName, "").order(), func(x Resource) bool { return yield(x.(*MapEntry)) })
	}
}

// Of walks over the resources of the type T, which must be the one of that kind, by name.
func Of[T Resource](r *Revision, kind Kind) iter.Seq[T] {
	return func(yield func(T) bool) {
		r.walk(Key{Kind: kind}.order(), func(x Resource) bool { return yield(x.(T)) })
	}
}

func (r *Revision) walk(prefix string, yield func(Resource) bool) {
	r.tree.walk(prefix, func(_ string, e *element) bool { return yield(e.resource) })
}

// Apply returns r with the changes made and the given version. Its cost is that of the changes.
func (r *Revision) Apply(d RevisionDelta, version Version) *Revision {
	e := r.tree.edit()
	digest := r.digest
	for k, x := range d.Changes {
		var old *element
		if x == nil {
			old, _ = e.remove(k.order())
		} else {
			next := &element{x, ResourceDigest(x)}
			old, _ = e.put(k.order(), next)
			digest = digest.Add(next.digest)
		}
		if old != nil {
			digest = digest.Sub(old.digest)
		}
	}
	return &Revision{Version: version, digest: digest, tree: e.tree}
}

// DiffRevisions returns the changes that turn a into b. It looks at every resource of both: it is for resuming and for people, never for
// the path of a change.
func DiffRevisions(a, b *Revision) RevisionDelta {
	d := RevisionDelta{Changes: map[Key]Resource{}}
	if a.tree.root == b.tree.root {
		return d
	}
	b.tree.walk("", func(k string, e *element) bool {
		if old, ok := a.tree.get(k); !ok || old.digest != e.digest {
			d.Changes[e.resource.Key()] = e.resource
		}
		return true
	})
	a.tree.walk("", func(k string, e *element) bool {
		if _, ok := b.tree.get(k); !ok {
			d.Changes[e.resource.Key()] = nil
		}
		return true
	})
	return d
}

// Full returns the changes that build r from nothing.
func (r *Revision) Full() RevisionDelta { return DiffRevisions(EmptyRevision(), r) }

// Empty says whether the delta changes nothing.
func (d RevisionDelta) Empty() bool { return len(d.Changes) == 0 }

// Merge returns the delta that does d and then e. Neither is altered.
func (d RevisionDelta) Merge(e RevisionDelta) RevisionDelta {
	m := RevisionDelta{Changes: make(map[Key]Resource, len(d.Changes)+len(e.Changes))}
	for k, x := range d.Changes {
		m.Changes[k] = x
	}
	for k, x := range e.Changes {
		m.Changes[k] = x
	}
	return m
}

// BucketDigests returns the digest of each bucket.
func (r *Revision) BucketDigests() []Digest {
	out := make([]Digest, Buckets)
	r.tree.walk("", func(_ string, e *element) bool {
		i := keyBucket(e.resource.Key())
		out[i] = out[i].Add(e.digest)
		return true
	})
	return out
}

func keyBucket(k Key) int { return bucketOf(k.Kind, k.Name) }

// InBuckets returns the resources of the buckets that are wanted: what a peer is sent whose digests of these differ.
func (r *Revision) InBuckets(wanted func(bucket int) bool) []Resource {
	var out []Resource
	for x := range r.All() {
		if wanted(keyBucket(x.Key())) {
			out = append(out, x)
		}
	}
	return out
}

// ReplaceBuckets returns the delta that makes the given buckets of r hold exactly these resources.
func (r *Revision) ReplaceBuckets(replaced func(bucket int) bool, with []Resource) RevisionDelta {
	d := RevisionDelta{Changes: make(map[Key]Resource, len(with))}
	for x := range r.All() {
		if replaced(keyBucket(x.Key())) {
			d.Changes[x.Key()] = nil
		}
	}
	for _, x := range with {
		d.Changes[x.Key()] = x
	}
	return d
}
