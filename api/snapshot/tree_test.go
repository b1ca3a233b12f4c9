package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// content lists a tree's keys and values in its own order.
func content(tr tree[int], prefix string) (out []string) {
	tr.walk(prefix, func(k string, v int) bool {
		out = append(out, fmt.Sprint(k, v))
		return true
	})
	return out
}

// A tree is a map: whatever is put into it and taken away, in one edit or many, and every tree before stays as it was.
func TestTreeIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var now tree[int]
		model := map[string]int{}
		type version struct {
			tree    tree[int]
			content []string
		}
		var before []version
		key := rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"", "a", "b\x00", "ba"}).Draw(t, "start") + fmt.Sprint(rapid.IntRange(0, 300).Draw(t, "number"))
		})
		for range rapid.IntRange(1, 6).Draw(t, "edits") {
			e := now.edit()
			growing := rapid.IntRange(1, 9).Draw(t, "growing")
			for range rapid.IntRange(0, 200).Draw(t, "changes") {
				k := key.Draw(t, "key")
				want, there := model[k]
				var old int
				var had bool
				if v := rapid.IntRange(0, 9).Draw(t, "value"); v < growing {
					old, had = e.put(k, v)
					model[k] = v
				} else {
					old, had = e.remove(k)
					delete(model, k)
				}
				if had != there || old != want {
					t.Fatalf("%q was %d (%v), want %d (%v)", k, old, had, want, there)
				}
			}
			now = e.tree
			before = append(before, version{now, content(now, "")})
			var want []string
			for _, k := range slices.Sorted(maps.Keys(model)) {
				want = append(want, fmt.Sprint(k, model[k]))
			}
			if got := content(now, ""); !slices.Equal(got, want) || now.size != len(model) {
				t.Fatalf("%d keys:\n%v\nwant %d:\n%v", now.size, got, len(model), want)
			}
			prefix := key.Draw(t, "prefix")[:1]
			want = slices.DeleteFunc(want, func(s string) bool { return !strings.HasPrefix(s, prefix) })
			if got := content(now, prefix); !slices.Equal(got, want) {
				t.Fatalf("with %q: %v\nwant %v", prefix, got, want)
			}
			for k, v := range model {
				if got, ok := now.get(k); !ok || got != v {
					t.Fatalf("%q is %d (%v), want %d", k, got, ok, v)
				}
			}
		}
		for i, v := range before {
			if !slices.Equal(content(v.tree, ""), v.content) {
				t.Fatalf("tree %d was altered by those after it", i)
			}
		}
	})
}

// A tree that was large is shallow again when it is small, and a walk may stop anywhere.
func TestTreeShrinks(t *testing.T) {
	var now tree[int]
	e := now.edit()
	for i := range 20_000 {
		e.put(fmt.Sprintf("%05d", i), i)
	}
	now = e.tree
	if d := depth(now.root); d > 4 {
		t.Errorf("20,000 keys make %d levels", d)
	}
	n := 0
	now.walk("001", func(string, int) bool { n++; return n < 50 })
	if n != 50 {
		t.Errorf("a walk that was to stop after 50 keys went over %d", n)
	}
	for i := range 19_990 {
		e := now.edit()
		e.remove(fmt.Sprintf("%05d", (i*7)%20_000))
		now = e.tree
	}
	if d := depth(now.root); d > 2 || now.size != 10 {
		t.Errorf("%d keys make %d levels", now.size, d)
	}
}

func depth[V any](n *node[V]) int {
	if n == nil {
		return 0
	}
	if n.kids == nil {
		return 1
	}
	return 1 + depth(n.kids[0].node)
}
