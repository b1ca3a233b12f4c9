package files_test

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/haproxytest"
	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/dataplane-agent/internal/certs"
	"github.com/berth-proxy/berth/dataplane-agent/internal/disk"
	"github.com/berth-proxy/berth/dataplane-agent/internal/files"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
)

// place is a state directory with a default certificate, and a Writer for it.
func place(t *testing.T) (string, files.Writer) {
	t.Helper()
	dir := t.TempDir()
	if _, err := certs.Open(dir); err != nil {
		t.Fatal(err)
	}
	return dir, files.New(render.Settings{StateDir: dir, HTTPPort: 18080, HTTPSPort: 18443, BindAddress: "127.0.0.1"})
}

func revision(resources ...snapshot.Resource) *snapshot.Revision {
	d := snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{}}
	for _, r := range append(resources,
		&snapshot.Section{Type: "defaults", Name: "berth", Lines: []snapshot.Line{
			{"mode", "http"}, {"timeout", "client", "1s"}, {"timeout", "server", "1s"}, {"timeout", "connect", "1s"},
		}},
		&snapshot.Section{Type: "frontend", Name: "web from berth", Lines: []snapshot.Line{
			{"http-request", "set-var(txn.b)", "path,map_str(maps/exact.map)"}, {"use_backend", "%[var(txn.b)]"},
		}},
		&snapshot.Map{Name: "exact"}, &snapshot.Backend{Name: "a", Defaults: "berth"}) {
		d.Changes[r.Key()] = r
	}
	return snapshot.EmptyRevision().Apply(d, snapshot.Version{Epoch: 1, Number: 1})
}

func generation(port uint16) *snapshot.Generation {
	slot := snapshot.Slot{State: snapshot.Ready, Address: netip.MustParseAddr("127.0.0.1"), Port: port, Weight: 1}
	return snapshot.EmptyGeneration().Apply(snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{"a": {Length: 2, Slots: map[int]snapshot.Slot{0: slot}}}},
		snapshot.Version{Epoch: 1, Number: 1})
}

// content is every file of a folder but those of the candidate, with the time of its last change.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "next":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir+"/")] = info.ModTime().Format(time.RFC3339Nano) + " " + info.Mode().String() + "\n" + string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t *testing.T, w files.Writer, rev *snapshot.Revision, gen *snapshot.Generation) []string {
	t.Helper()
	written, err := w.Write(rev, gen)
	if err != nil {
		t.Fatal(err)
	}
	return written
}

func TestFILES2_ACandidateDoesNotTouchWhatIsInForce(t *testing.T) {
	dir, w := place(t)
	write(t, w, revision(&snapshot.MapEntry{Map: "exact", Name: "/a", Value: "a"}), generation(1))
	before := content(t, dir)
	other := revision(&snapshot.MapEntry{Map: "exact", Name: "/b", Value: "a"}, &snapshot.Backend{Name: "b", Defaults: "berth"})
	path, err := w.WriteCandidate(other, generation(2))
	if err != nil {
		t.Fatal(err)
	}
	after := content(t, dir)
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s was changed", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files, before %d", len(after), len(before))
	}
	if text, _ := os.ReadFile(path); !strings.Contains(string(text), "backend b") || !strings.Contains(string(text), "127.0.0.1:2") {
		t.Errorf("the candidate does not say what is to be checked:\n%s", text)
	}
}

func TestOnlyWhatDiffersIsWritten(t *testing.T) {
	dir, w := place(t)
	rev := revision()
	if got, want := write(t, w, rev, generation(1)), []string{"certs/crt-list", "maps/exact.map", "haproxy.cfg"}; !slices.Equal(got, want) {
		t.Errorf("written %q, want %q", got, want)
	}
	if got := write(t, w, rev, generation(1)); len(got) > 0 {
		t.Errorf("the same once more writes %q", got)
	}
	if got := write(t, w, rev, generation(2)); !slices.Equal(got, []string{"haproxy.cfg"}) {
		t.Errorf("another slot writes %q", got)
	}
	if err := os.Remove(filepath.Join(dir, "maps/exact.map")); err != nil {
		t.Fatal(err)
	}
	if got := write(t, w, rev, generation(2)); !slices.Equal(got, []string{"maps/exact.map"}) {
		t.Errorf("after a file was removed %q are written", got)
	}
	for name, text := range content(t, dir) {
		if mode := strings.Fields(text)[1]; mode != "-rw-------" {
			t.Errorf("%s has the mode %s", name, mode)
		}
	}
}

// FILES-1: a configuration comes into force only when all that it names is there.
func TestFILES1_TheConfigurationIsWrittenLast(t *testing.T) {
	dir, w := place(t)
	write(t, w, revision(), generation(1))
	before := content(t, dir)["haproxy.cfg"]
	if err := os.Mkdir(filepath.Join(dir, "maps/late.map"), 0o700); err != nil { // it cannot be written
		t.Fatal(err)
	}
	_, err := w.Write(revision(&snapshot.Map{Name: "late"}, &snapshot.Backend{Name: "b", Defaults: "berth"}), generation(2))
	if !errors.Is(err, disk.ErrWrite) || !strings.Contains(err.Error(), "late.map") {
		t.Errorf("error %v", err)
	}
	if content(t, dir)["haproxy.cfg"] != before {
		t.Error("the configuration is in force without one of its files")
	}
}

func TestARevisionThatCannotBeRenderedIsNotTheDisksFault(t *testing.T) {
	dir, w := place(t)
	write(t, w, revision(), generation(1))
	before := content(t, dir)
	bad := revision(&snapshot.Backend{Name: "b", Defaults: "berth", Lines: []snapshot.Line{{"a\nb"}}})
	if _, err := w.Write(bad, generation(1)); err == nil || errors.Is(err, disk.ErrWrite) {
		t.Errorf("error %v", err)
	}
	if _, err := w.WriteCandidate(bad, generation(1)); err == nil || errors.Is(err, disk.ErrWrite) {
		t.Errorf("error of the candidate: %v", err)
	}
	if after := content(t, dir); len(after) != len(before) || after["haproxy.cfg"] != before["haproxy.cfg"] {
		t.Error("something was written")
	}
}

// What is in force can be started, and the candidate checked, from wherever the agent runs.
func TestHAProxyFindsAllFiles(t *testing.T) {
	for _, name := range haproxytest.Names() {
		t.Run(name, func(t *testing.T) {
			binary := haproxytest.Needed(t, name)
			dir, w := place(t)
			text, err := os.ReadFile(filepath.Join(dir, certs.DefaultFile))
			if err != nil {
				t.Fatal(err)
			}
			folder, err := certs.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			c, err := folder.Keep(&snapshot.Certificate{Name: "n/c", ServerNames: []string{"x.example"}, Content: snapshot.PEMDigest(text), PEM: text})
			if err != nil {
				t.Fatal(err)
			}
			rev := revision(c, &snapshot.MapEntry{Map: "exact", Name: "/a", Value: "a"})
			path, err := w.WriteCandidate(rev, generation(1))
			if err != nil {
				t.Fatal(err)
			}
			write(t, w, rev, generation(1))
			for _, path := range []string{path, w.Config()} {
				if err := haproxy.Check(context.Background(), binary, path); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
}
