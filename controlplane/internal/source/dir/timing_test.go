package dir

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// start runs a source on an empty directory and waits until it has listed it.
func start(t *testing.T) (sink *recorder, root string) {
	t.Helper()
	root = t.TempDir()
	sink = run(t, New("test", root, zerolog.Nop()))
	sink.await(t, "listed true synced true stale false\n")
	return sink, root
}

const fresh = "listed true synced true stale false\n"

// DIR-6: a volume of kubelet's is updated again and again, and each time the objects stand in other files of it, some of which are
// new and some gone. No object is ever away.
func TestSwapsNeverLoseAnObject(t *testing.T) {
	t.Parallel()
	root, random := t.TempDir(), rand.New(rand.NewPCG(1, 1))
	names := []string{"a.yaml", "b.yaml", "c.yaml", "d.yaml"}
	swap := func(n int) {
		t.Helper()
		files := map[string]string{}
		for object := range 5 {
			files[names[random.IntN(len(names))]] += serviceText(fmt.Sprint("web-", object), n)
		}
		volume(t, root, fmt.Sprintf("..%d", n), files)
	}
	swap(1)
	sink := run(t, New("test", root, zerolog.Nop()))
	for n := 2; n < 40; n++ {
		sink.await(t, fresh+expect(5, n-1))
		swap(n)
	}
	sink.await(t, fresh+expect(5, 39))
	sink.mu.Lock()
	defer sink.mu.Unlock()
	if sink.gone > 0 {
		t.Errorf("objects were away %d times", sink.gone)
	}
	for i, keys := range sink.changes {
		if len(keys) != 5 {
			t.Errorf("batch %d has %d of the 5 objects: %v", i, len(keys), keys)
		}
	}
}

func expect(objects, port int) string {
	var b strings.Builder
	for o := range objects {
		fmt.Fprintf(&b, "Service default/web-%d: [%d]\n", o, port)
	}
	return b.String()
}

// volume does what kubelet does: a new directory, one rename, then links for the files that are new, and off with the others.
func volume(t *testing.T, root, generation string, files map[string]string) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(filepath.Join(root, generation), 0o755))
	for name, text := range files {
		must(os.WriteFile(filepath.Join(root, generation, name), []byte(text), 0o644))
	}
	must(os.Symlink(generation, filepath.Join(root, "..data_tmp")))
	must(os.Rename(filepath.Join(root, "..data_tmp"), filepath.Join(root, "..data")))
	for name := range files {
		if link := filepath.Join(root, name); !exists(link) {
			must(os.Symlink("..data/"+name, link))
		}
	}
	list, err := os.ReadDir(root)
	must(err)
	for _, item := range list {
		old := strings.HasPrefix(item.Name(), "..") && item.IsDir() && item.Name() != generation
		stale := item.Name()[0] != '.' && files[item.Name()] == ""
		if old || stale {
			must(os.RemoveAll(filepath.Join(root, item.Name())))
		}
	}
}

// A file that is renamed takes its objects along: they are never away, and nothing changes.
func TestRenamedFilesKeepTheirObjects(t *testing.T) {
	t.Parallel()
	sink, root := start(t)
	if err := put(filepath.Join(root, "0.yaml"), serviceText("web-0", 1)); err != nil {
		t.Fatal(err)
	}
	sink.await(t, fresh+expect(1, 1))
	for n := range 20 {
		if err := os.Rename(filepath.Join(root, fmt.Sprint(n, ".yaml")), filepath.Join(root, fmt.Sprint(n+1, ".yaml"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := put(filepath.Join(root, "20.yaml"), serviceText("web-0", 2)); err != nil {
		t.Fatal(err)
	}
	sink.await(t, fresh+expect(1, 2))
	sink.mu.Lock()
	defer sink.mu.Unlock()
	if sink.gone > 0 || len(sink.changes) != 2 {
		t.Errorf("away %d times, %d batches changed it: %v", sink.gone, len(sink.changes), sink.changes)
	}
}

// DIR-1: a file that never comes to rest is not read, while the other files go on. The source says so after a while, and the first
// list does not wait for it for ever.
func TestRestlessFile(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	restless := filepath.Join(c.root, "restless.yaml")
	c.put("restless.yaml", serviceText("web-1", 1))
	c.put("web.yaml", serviceText("web-0", 1))
	busy := func(length time.Duration) {
		for end := c.now.Add(length); c.now.Before(end); c.now = c.now.Add(Rest / 2) {
			if err := os.Chtimes(restless, time.Time{}, c.now); err != nil {
				t.Fatal(err)
			}
			c.pass()
		}
	}
	busy(patience / 2)
	if c.sink.fulls > 0 {
		t.Error("the first list did not wait for the file at all")
	}
	const complaint = "listed true synced false stale true\n" +
		"error restless.yaml: is being written to without rest; it is read when it has been left alone for 20ms\n"
	busy(patience)
	c.says(complaint + expect(1, 1))
	c.put("web.yaml", serviceText("web-0", 2))
	c.r.at(filepath.Join(c.root, "web.yaml"), happening{seen: c.now, placed: true})
	busy(patience)
	c.says(complaint + expect(1, 2))
	c.put("web.yaml", serviceText("web-0", 1))
	c.turn(time.Minute)
	c.says(fresh + expect(2, 1))
}

// The time that a source gives for a change is when it saw it, not when it was done with it.
func TestSeen(t *testing.T) {
	t.Parallel()
	sink, root := start(t)
	before := time.Now()
	if err := put(filepath.Join(root, "web.yaml"), serviceText("web-0", 1)); err != nil {
		t.Fatal(err)
	}
	sink.await(t, fresh+expect(1, 1))
	after := time.Now()
	sink.mu.Lock()
	seen := sink.lastSeen
	sink.mu.Unlock()
	if seen.Before(before) || seen.After(after) {
		t.Errorf("a change between %v and %v was seen at %v", before, after, seen)
	}
}

// A source that cannot have a single watch finds everything all the same, by walking.
func TestWithoutWatches(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	c.turn(time.Minute)
	c.says(fresh)
	c.put("web.yaml", serviceText("web-0", 1))
	c.turn(time.Minute)
	c.says(fresh + expect(1, 1))
	if err := os.Remove(filepath.Join(c.root, "web.yaml")); err != nil {
		t.Fatal(err)
	}
	c.turn(time.Minute)
	c.says(fresh)
	batches := c.batches
	c.turn(time.Minute)
	if c.batches != batches {
		t.Error("a minute in which nothing happened was not silent")
	}
}

// clocked is a reader whose clock only the test moves, and which hears of no event.
type clocked struct {
	t       *testing.T
	root    string
	now     time.Time
	r       *reader
	sink    *recorder
	batches int
}

func newClocked(t *testing.T) *clocked {
	c := &clocked{t: t, root: t.TempDir(), now: time.Now(), sink: newRecorder()}
	c.r = newReader("test", c.root, Rescan, func(string) {})
	return c
}

func (c *clocked) put(name, text string) {
	c.t.Helper()
	if err := put(filepath.Join(c.root, name), text); err != nil {
		c.t.Fatal(err)
	}
}

func (c *clocked) pass() {
	if b, _ := c.r.pass(c.now); b != nil {
		c.batches++
		c.sink.Deliver(*b)
	}
}

// turn lets time go by, with a look whenever the reader wants one.
func (c *clocked) turn(length time.Duration) {
	for end := c.now.Add(length); c.now.Before(end); c.now = c.r.next {
		c.pass()
	}
}

func (c *clocked) says(want string) {
	c.t.Helper()
	if got := c.sink.text(); got != want {
		c.t.Fatalf("the source says\n%s\nwant\n%s", got, want)
	}
}
