package dir

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// Whatever is done to a directory, and however fast, a source that only gets events (the walks come once an hour) ends with what
// the loader reads from scratch. Each seed is another history; a failing one is run again by its name.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s, root := New("test", filepath.Join(t.TempDir(), "objects"), zerolog.Nop()), ""
			s.rescan, root = time.Hour, s.path
			history(t, s, root, seed)
		})
	}
}

// The same with no events at all, as on a network's file system: the walks find everything.
func TestWalksFindWhatEventsMiss(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "objects")
	h := newHistorian(t, root, 7)
	r := newReader("test", root, 0, func(string) {})
	sink := newRecorder()
	for range 30 {
		for range 5 {
			h.act()
		}
		want := load(t, root)
		timeout := time.Now().Add(deadline)
		for {
			if b, _ := r.pass(time.Now()); b != nil {
				sink.Deliver(*b)
			}
			if rowsOf(sink.text()) == want {
				break
			}
			if time.Now().After(timeout) {
				t.Fatalf("walks end with\n%s\nwant\n%s\nafter %s", sink.text(), want, h)
			}
		}
	}
}

func history(t *testing.T, s *Source, root string, seed uint64) {
	h := newHistorian(t, root, seed)
	sink := run(t, s)
	for range 40 {
		for range h.IntN(8) {
			h.act()
		}
		want := load(t, root)
		timeout := time.After(deadline)
		for rowsOf(sink.text()) != want {
			sink.mu.Lock()
			arrived := sink.arrived
			sink.mu.Unlock()
			if rowsOf(sink.text()) == want {
				break
			}
			select {
			case <-arrived:
			case <-timeout:
				t.Fatalf("the source ends with\n%s\nwant\n%s\nafter %s", sink.text(), want, h)
			}
		}
	}
}

func load(t *testing.T, root string) string {
	t.Helper()
	batch, err := Load("test", root)
	if err != nil {
		t.Fatal(err)
	}
	sink := newRecorder()
	sink.Deliver(batch)
	return rowsOf(sink.text())
}

// rowsOf leaves out the state: histories are about rows and problems.
func rowsOf(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "listed ") || strings.HasPrefix(l, "error ")
	}), "\n")
}

// historian does random things to a directory. Everything that it does leaves files that can be read.
type historian struct {
	*rand.Rand
	t    *testing.T
	root string
	done []string
	n    int
}

func newHistorian(t *testing.T, root string, seed uint64) *historian {
	h := &historian{Rand: rand.New(rand.NewPCG(seed, 1)), t: t, root: root}
	h.must(os.MkdirAll(root, 0o755))
	return h
}

func (h *historian) String() string { return strings.Join(h.done[max(0, len(h.done)-40):], "\n") }

func (h *historian) must(err error) {
	if err != nil {
		h.t.Fatalf("%v after %s", err, h)
	}
}

// pick is a path of three directories and three names, so that histories meet often.
func (h *historian) pick() string {
	dirs := []string{".", "a", "b", "a/c"}
	return filepath.Join(h.root, dirs[h.IntN(len(dirs))], string(rune('x'+h.IntN(3)))+".yaml")
}

func (h *historian) text() string {
	h.n++
	return serviceText([]string{"k", "l", "m", "o"}[h.IntN(4)], 1+h.n) + serviceText([]string{"k", "l", "m", "o"}[h.IntN(4)], 1+h.n)
}

func (h *historian) act() {
	a, b := h.pick(), h.pick()
	what := "nothing"
	switch h.IntN(9) {
	case 0, 1:
		what = "put " + a
		h.must(os.MkdirAll(filepath.Dir(a), 0o755))
		h.must(os.RemoveAll(a))
		h.must(put(a, h.text()))
	case 2:
		what = "write " + a
		h.must(os.MkdirAll(filepath.Dir(a), 0o755))
		if info, err := os.Lstat(a); err == nil && !info.Mode().IsRegular() {
			h.must(os.Remove(a))
		}
		h.must(os.WriteFile(a, []byte(h.text()), 0o644))
	case 3:
		what = "rm " + a
		h.must(os.RemoveAll(a))
	case 4:
		if exists(a) && exists(filepath.Dir(b)) {
			what = "mv " + a + " " + b
			h.must(os.Rename(a, b))
		}
	case 5:
		from, to := filepath.Join(h.root, "a"), filepath.Join(h.root, "b")
		if h.IntN(2) == 0 {
			from, to = to, from
		}
		if exists(from) {
			what = "mv " + from + " " + to
			h.must(os.RemoveAll(to))
			h.must(os.Rename(from, to))
		}
	case 6:
		what = "rm dir"
		h.must(os.RemoveAll(filepath.Join(h.root, []string{"a", "b", "a/c"}[h.IntN(3)])))
	case 7: // a symlink to a file outside, which is there
		what = "link " + a
		h.must(os.MkdirAll(filepath.Dir(a), 0o755))
		target := filepath.Join(filepath.Dir(h.root), fmt.Sprint("outside", h.IntN(2)))
		h.must(put(target, h.text()))
		h.must(os.RemoveAll(a))
		h.must(os.Symlink(target, a))
	case 8: // a swap of a directory of generations, as kubelet's
		what = "swap"
		gen := filepath.Join(h.root, fmt.Sprintf("..%d", h.n))
		h.must(os.MkdirAll(gen, 0o755))
		for _, name := range []string{"p.yaml", "q.yaml"} {
			h.must(os.WriteFile(filepath.Join(gen, name), []byte(h.text()), 0o644))
		}
		h.must(os.Symlink(filepath.Base(gen), filepath.Join(h.root, "..data.new")))
		h.must(os.Rename(filepath.Join(h.root, "..data.new"), filepath.Join(h.root, "..data")))
		for _, name := range []string{"p.yaml", "q.yaml"} {
			if link := filepath.Join(h.root, name); !exists(link) {
				h.must(os.Symlink("..data/"+name, link))
			}
		}
	}
	h.done = append(h.done, what)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
