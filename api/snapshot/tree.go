package snapshot

import (
	"slices"
	"sort"
	"strings"
)

// tree is an immutable map that is sorted by its keys: a B-tree of which a change copies the nodes on its way down and shares all others
// with the tree before. A radix tree would do the same, but is as deep as keys differ, and the cost of a change would show it (P8): here a
// change among 10,000 keys copies three nodes. The zero tree is empty.
type tree[V any] struct {
	root *node[V]
	size int
}

// width is the most that a node holds.
const width = 32

// node is a leaf, or has kids, each of them with the least key that was ever sought below it.
type node[V any] struct {
	owner *owner
	leaf  []entry[V]
	kids  []kid[V]
}

type entry[V any] struct {
	key   string
	value V
}

type kid[V any] struct {
	from string
	node *node[V]
}

// owner marks the nodes that an edit has made itself and may still alter.
type owner struct{ _ byte }

// edit is a tree in the making. It is done when its tree is taken out.
type edit[V any] struct {
	tree[V]
	owner *owner
}

func (t tree[V]) edit() edit[V] { return edit[V]{t, new(owner)} }

func (t tree[V]) get(key string) (value V, ok bool) {
	n := t.root
	for n != nil && n.kids != nil {
		n = n.kids[n.kid(key)].node
	}
	if n != nil {
		if i, found := n.find(key); found {
			return n.leaf[i].value, true
		}
	}
	return value, false
}

// walk calls yield for every key that begins with the prefix, in order, until it says no.
func (t tree[V]) walk(prefix string, yield func(string, V) bool) {
	if t.root != nil {
		t.root.walk(prefix, yield)
	}
}

func (n *node[V]) walk(prefix string, yield func(string, V) bool) bool {
	if n.kids != nil {
		for _, k := range n.kids[n.kid(prefix):] {
			if !k.node.walk(prefix, yield) {
				return false
			}
		}
		return true
	}
	i, _ := n.find(prefix)
	for _, e := range n.leaf[i:] {
		if !strings.HasPrefix(e.key, prefix) || !yield(e.key, e.value) {
			return false
		}
	}
	return true
}

// find is where the key is in a leaf, or would be.
func (n *node[V]) find(key string) (int, bool) {
	i := sort.Search(len(n.leaf), func(i int) bool { return n.leaf[i].key >= key })
	return i, i < len(n.leaf) && n.leaf[i].key == key
}

// kid is the one below which the key is, or would be.
func (n *node[V]) kid(key string) int {
	i := sort.Search(len(n.kids), func(i int) bool { return n.kids[i].from > key })
	return max(i-1, 0)
}

func (n *node[V]) len() int { return len(n.leaf) + len(n.kids) }

// put sets the key's value and returns the one before.
func (e *edit[V]) put(key string, value V) (old V, had bool) {
	if e.root == nil {
		e.root = &node[V]{owner: e.owner}
	}
	var right *node[V]
	e.root, right, old, had = e.putBelow(e.root, key, value)
	if right != nil {
		e.root = &node[V]{owner: e.owner, kids: []kid[V]{{e.root.first(), e.root}, {right.first(), right}}}
	}
	if !had {
		e.size++
	}
	return old, had
}

// putBelow returns the node that takes n's place, and a second one if it had to be split.
func (e *edit[V]) putBelow(n *node[V], key string, value V) (_, right *node[V], old V, had bool) {
	n = e.own(n)
	if n.kids == nil {
		i, found := n.find(key)
		if found {
			old, n.leaf[i].value = n.leaf[i].value, value
			return n, nil, old, true
		}
		n.leaf = slices.Insert(n.leaf, i, entry[V]{key, value})
		return n, e.split(n), old, false
	}
	i := n.kid(key)
	k := &n.kids[i]
	k.node, right, old, had = e.putBelow(k.node, key, value)
	k.from = min(k.from, key)
	if right != nil {
		n.kids = slices.Insert(n.kids, i+1, kid[V]{right.first(), right})
	}
	return n, e.split(n), old, had
}

// own returns n if the edit has made it, else a copy.
func (e *edit[V]) own(n *node[V]) *node[V] {
	if n.owner == e.owner {
		return n
	}
	return &node[V]{e.owner, slices.Clone(n.leaf), slices.Clone(n.kids)}
}

// split takes the upper half from a node that is too large.
func (e *edit[V]) split(n *node[V]) (right *node[V]) {
	if n.len() <= width {
		return nil
	}
	right = &node[V]{owner: e.owner}
	right.leaf, n.leaf = upper(n.leaf)
	right.kids, n.kids = upper(n.kids)
	return right
}

func upper[E any](s []E) (high, low []E) {
	if s == nil {
		return nil, nil
	}
	half := len(s) / 2
	high = slices.Clone(s[half:])
	clear(s[half:])
	return high, s[:half]
}

func (n *node[V]) first() string {
	if n.kids != nil {
		return n.kids[0].from
	}
	return n.leaf[0].key
}

// remove takes the key away and returns its value.
func (e *edit[V]) remove(key string) (old V, had bool) {
	if old, had = e.get(key); !had {
		return old, false
	}
	e.size--
	e.root = e.removeBelow(e.root, key)
	for len(e.root.kids) == 1 {
		e.root = e.root.kids[0].node
	}
	if e.root.len() == 0 {
		e.root = nil
	}
	return old, true
}

// removeBelow returns the node that takes n's place. The key is there.
func (e *edit[V]) removeBelow(n *node[V], key string) *node[V] {
	n = e.own(n)
	if n.kids == nil {
		i, _ := n.find(key)
		n.leaf = slices.Delete(n.leaf, i, i+1)
		return n
	}
	i := n.kid(key)
	n.kids[i].node = e.removeBelow(n.kids[i].node, key)
	if n.kids[i].node.len() < width/4 && len(n.kids) > 1 {
		e.join(n, max(i-1, 0))
	}
	return n
}

// join puts the kids i and i+1 together, if they fit well, so that a tree that has been large does not stay deep.
func (e *edit[V]) join(n *node[V], i int) {
	left, right := n.kids[i].node, n.kids[i+1].node
	if left.len()+right.len() > width*3/4 && left.len() > 0 && right.len() > 0 {
		return
	}
	left = e.own(left)
	left.leaf = append(left.leaf, right.leaf...)
	left.kids = append(left.kids, right.kids...)
	n.kids[i].node = left
	n.kids = slices.Delete(n.kids, i+1, i+2)
}
