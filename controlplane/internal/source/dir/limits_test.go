package dir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"
)

// DIR-2: a symlink that leads to a large tree, such as a disk's root, does not have all of that read. The source says so, keeps what it
// has, and goes on when the symlink is gone.
func TestMoreNamesThanAnybodyWouldPutThere(t *testing.T) {
	const limit = 20
	top := t.TempDir()
	root, elsewhere := filepath.Join(top, "objects"), filepath.Join(top, "elsewhere")
	put := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := put(path, serviceText("web", 1)); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(root, "web.yaml"))
	for i := range limit {
		put(filepath.Join(elsewhere, string(rune('a'+i)), "else.yaml"))
	}
	looked := 0
	r := newReader("test", root, time.Hour, func(string) { looked++ })
	r.limit = limit
	now := time.Now().Add(Rest)
	if b, _ := r.pass(now); b == nil || !b.Full || len(b.Put) != 1 {
		t.Fatalf("the first list is %+v", b)
	}

	if err := os.Symlink(elsewhere, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	looked = 0
	for range 3 {
		now = r.next.Add(Rest)
		r.walkAt = now
		b, _ := r.pass(now)
		if b != nil && (len(b.Put)+len(b.Gone) > 0 || !strings.Contains(b.State.Error, "does a symlink lead out of it?")) {
			t.Fatalf("there are more names than anybody would put there, and what is delivered is %+v, %q", b, b.State.Error)
		}
	}
	if !strings.Contains(r.told.Error, "more than 20 names") || r.told.StaleSince.IsZero() {
		t.Errorf("the state is %+v", r.told)
	}
	if looked > 3*(limit+3) {
		t.Errorf("three walks looked into %d directories", looked)
	}

	if err := os.Remove(filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	put(filepath.Join(root, "web.yaml"))
	now = r.next.Add(Rest)
	if b, _ := r.pass(now); b == nil || b.State == nil || b.State.Error != "" || len(b.Gone) > 0 {
		t.Errorf("the symlink is gone, and what is delivered is %+v", b)
	}
}

// A name of a file may have any bytes, but what is told goes into logs, tables and protocols that carry text.
func TestNamesThatAreNoText(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a.yaml", "b\xff.yaml", "c\n.yaml"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(serviceText("web", 1)+"---\nkind: Foo\napiVersion: v1\nmetadata: {name: x}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "broken\xff.yaml"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("no\xff", filepath.Join(root, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	sink := run(t, New("test", root, zerolog.Nop()))
	sink.rest(2 * patience)
	sink.mu.Lock()
	defer sink.mu.Unlock()
	text := func(what, s string) {
		if !utf8.ValidString(s) || strings.ContainsAny(s, "\n\r\t") {
			t.Errorf("%s is %q", what, s)
		}
	}
	text("the state's error", sink.state.Error)
	problems := 0
	for _, list := range sink.reports {
		for _, p := range list {
			problems++
			text("a place", p.Place)
			text("a reason", p.Reason)
		}
	}
	if problems < 3 || sink.state.Error == "" {
		t.Errorf("there are %d problems, and the state's error is %q", problems, sink.state.Error)
	}
}
