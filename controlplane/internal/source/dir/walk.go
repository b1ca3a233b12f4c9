package dir

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-proxy/berth/controlplane/internal/source/manifest"
)

// walk compares the whole tree with what is known and marks what differs. It gives nil when the root cannot be walked.
func (r *reader) walk(now time.Time) *tree {
	seen := r.walkSeen
	if seen.IsZero() {
		seen = now
	}
	r.walkSeen, r.walkAt = time.Time{}, now.Add(r.rescan)
	began := time.Now()
	t, err := walk(r.root, r.limit, r.watch)
	took := time.Since(began)
	r.calm = now.Add(2 * took)
	if err == nil {
		err = r.emptied(t)
	}
	if err != nil {
		// Whatever was marked is looked for again when the root is back.
		clear(r.marks)
		r.walkAt = now.Add(min(max(retry, 10*took), r.rescan))
		if r.rootFault == nil {
			r.rootFault = &fault{since: now}
		}
		r.rootFault.text = err.Error()
		return nil
	}
	r.rootFault = nil
	if r.begun.IsZero() {
		r.begun = now
	}
	r.compare(t, seen)
	keepSince(r.blind, t.faults, now)
	keepSince(r.lost, t.lost, now)
	r.tree = t
	return t
}

// emptied refuses a root that is another directory than before and has nothing in it: that is what an unmounted volume looks like.
func (r *reader) emptied(t *tree) error {
	if r.tree == nil || len(r.files) == 0 || len(t.entries)+len(t.faults) > 0 {
		return nil
	}
	if t.sameRoot(r.tree) {
		return nil
	}
	return errors.New("directory " + r.root + " was replaced by an empty one; its last objects stay in force until a file is there, or until it is forgotten")
}

// sameRoot says whether two walks began in the same directory, whatever its path.
func (t *tree) sameRoot(o *tree) bool {
	return t.rootID.device == o.rootID.device && t.rootID.inode == o.rootID.inode
}

// compare marks the files of the tree that differ from what is known of them.
func (r *reader) compare(t *tree, seen time.Time) {
	moved := r.tree != nil && r.tree.root != t.root
	// What stands in another directory than before is one change, be it a volume that is mounted late: half of it would say that the rest is gone (DIR-6).
	together := r.swapping() || r.tree != nil && !t.sameRoot(r.tree)
	marked := map[string]*mark{}
	for rel, e := range t.entries {
		f := r.files[rel]
		if f != nil && f.ident == e.ident && f.real == e.real && !f.racy && !f.retry {
			if m := r.marks[rel]; m != nil {
				m.missed = false
			}
			continue
		}
		m := r.mark(rel, e.real, seen)
		m.missed = false
		marked[rel] = m
		if f != nil && f.real != e.real && (e.link || f.link || moved) {
			m.placed, together = true, true
		}
	}
	for rel := range r.marks {
		if _, there := t.entries[rel]; !there && r.files[rel] == nil {
			delete(r.marks, rel) // it came and went before it counted
		}
	}
	for rel, f := range r.files {
		if _, there := t.entries[rel]; there {
			continue
		}
		if t.blind(rel) {
			delete(r.marks, rel)
			continue
		}
		m := r.mark(rel, f.real, seen)
		m.missed = true
		marked[rel] = m
		together = together || f.link
	}
	if together {
		for _, m := range marked {
			m.together = true
		}
	}
}

// swapping says whether a swap is waiting for its last part. What is found meanwhile may be that part.
func (r *reader) swapping() bool {
	for _, m := range r.marks {
		if m.together {
			return true
		}
	}
	return false
}

// keepSince makes known what is found, each with the time when it was found first.
func keepSince(known map[string]time.Time, found map[string]error, now time.Time) {
	for rel := range known {
		if found[rel] == nil {
			delete(known, rel)
		}
	}
	for rel := range found {
		if _, ok := known[rel]; !ok {
			known[rel] = now
		}
	}
}

// mark notes that a file, which is at a path without symlinks, may have changed.
func (r *reader) mark(rel, path string, seen time.Time) *mark {
	m := r.marks[rel]
	if m == nil {
		m = &mark{seen: seen}
		r.marks[rel] = m
	}
	m.real = path
	return m
}

// happened takes what the watcher saw.
func (r *reader) happened(e events) {
	if e.lost != nil {
		r.look(e.seen)
	}
	for path, h := range e.paths {
		r.at(path, h)
	}
}

// at marks the file that something happened to, or asks for a walk where it happened to more than a file. No event is believed:
// it says only where to look.
func (r *reader) at(path string, h happening) {
	if r.tree == nil {
		return
	}
	_, isDir := r.tree.dirs[path]
	_, isLink := r.tree.links[path]
	if isDir || isLink {
		r.look(h.seen)
		return
	}
	for _, rel := range r.tree.targets[path] {
		r.mark(rel, path, h.seen).placed = h.placed
	}
	dir, name := filepath.Split(path)
	rel, ok := r.tree.dirs[filepath.Clean(dir)]
	if !ok || strings.HasPrefix(name, ".") {
		return
	}
	rel = filepath.Join(rel, name)
	switch {
	case kindOf(path) == kindOther, r.tree.faults[rel] != nil, r.tree.lost[rel] != nil:
		r.look(h.seen) // a symlink or a directory, or what was in the way of a walk
	case manifest.IsManifest(name):
		r.mark(rel, path, h.seen).placed = h.placed
	}
}
