package journal_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/journal"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// node is what uses a journal: it holds a state and changes it.
type node struct{ journal.State }

func (n *node) setSlot(i int, backend string) wire.Update {
	at := snapshot.Version{Epoch: 1, Number: n.Generation.Version.Number + 1}
	d := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{backend: {Length: 4, Version: at, Slots: map[int]snapshot.Slot{
		i % 4: {State: snapshot.Ready, Address: netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), Port: 80, Weight: 100, Endpoint: fmt.Sprint(i)},
	}}}}
	u := wire.Update{Scope: fleetv1.Scope_SCOPE_CHANGES, From: wire.MarksOf(nil, n.Generation), Generation: d}
	n.Generation = n.Generation.Apply(d, at)
	u.To = wire.MarksOf(nil, n.Generation)
	return u
}

func (n *node) setBackend(name string) wire.Update {
	at := snapshot.Version{Epoch: 1, Number: n.Revision.Version.Number + 1}
	b := &snapshot.Backend{Name: name, Defaults: fmt.Sprint(at)}
	d := snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{b.Key(): b}}
	u := wire.Update{Scope: fleetv1.Scope_SCOPE_CHANGES, From: wire.MarksOf(n.Revision, nil), Revision: d}
	n.Revision = n.Revision.Apply(d, at)
	u.To = wire.MarksOf(n.Revision, nil)
	return u
}

// run opens the journal, lets use it, and ends when all is written.
func run(t testing.TB, dir string, use func(*journal.Journal, *node)) {
	t.Helper()
	j, s, err := journal.Open(dir, "f")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- j.Run(ctx) }()
	use(j, &node{s})
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := j.Err(); err != nil {
		t.Fatal(err)
	}
}

func reopen(t testing.TB, dir string) (journal.State, error) {
	t.Helper()
	j, s, err := journal.Open(dir, "f")
	if err != nil {
		t.Fatal(err)
	}
	return s, j.Problem()
}

func same(t testing.TB, got, want journal.State) {
	t.Helper()
	if !wire.MarksOf(got.Revision, got.Generation).Same(wire.MarksOf(want.Revision, want.Generation)) {
		t.Errorf("read back %v, want %v", wire.MarksOf(got.Revision, got.Generation), wire.MarksOf(want.Revision, want.Generation))
	}
	if (got.Running == nil) != (want.Running == nil) || got.Running != nil && got.Running.Digest() != want.Running.Digest() {
		t.Errorf("running is %v, want %v", got.Running, want.Running)
	}
	if got.Revision.Version != want.Revision.Version || got.Generation.Version != want.Generation.Version {
		t.Errorf("versions %v %v, want %v %v", got.Revision.Version, got.Generation.Version, want.Revision.Version, want.Generation.Version)
	}
}

func TestJOURNAL1_WhatWasAppendedIsReadBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "j")
		if err != nil {
			t.Fatal(err)
		}
		var last journal.State
		for range rapid.IntRange(1, 3).Draw(rt, "starts") {
			run(t, dir, func(j *journal.Journal, n *node) {
				if last.Revision != nil {
					same(t, n.State, last)
				}
				for i := range rapid.IntRange(0, 400).Draw(rt, "changes") {
					switch {
					case i%7 == 3:
						j.Append(n.setBackend(fmt.Sprint("b", i%5)), n.State)
					case i%11 == 5:
						n.State.Running = n.Revision
						j.Running(n.State)
					default:
						j.Append(n.setSlot(i, fmt.Sprint("b", i%3)), n.State)
					}
				}
				last = n.State
			})
		}
		s, problem := reopen(t, dir)
		if problem != nil {
			t.Fatal(problem)
		}
		same(t, s, last)
	})
}

func TestJOURNAL2_ACutOrAlteredFileGivesAnEarlierState(t *testing.T) {
	dir := t.TempDir()
	var states []journal.State
	run(t, dir, func(j *journal.Journal, n *node) {
		for i := range 20 {
			j.Append(n.setSlot(i, "b"), n.State)
			states = append(states, n.State)
		}
	})
	// A second start, so that records follow the whole state.
	run(t, dir, func(j *journal.Journal, n *node) {
		for i := range 20 {
			j.Append(n.setSlot(i, "b"), n.State)
			states = append(states, n.State)
		}
	})
	// With its versions, which no digest covers.
	known := map[wire.Marks]bool{}
	for _, s := range append(states, journal.Empty()) {
		known[wire.MarksOf(s.Revision, s.Generation)] = true
	}
	path := filepath.Join(dir, "log")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 0; cut < len(text); cut++ {
		for _, broken := range [][]byte{text[:cut], flip(text, cut)} {
			if err := os.WriteFile(path, broken, 0o600); err != nil {
				t.Fatal(err)
			}
			if s, _ := reopen(t, dir); !known[wire.MarksOf(s.Revision, s.Generation)] {
				t.Fatalf("a file broken at %d gives a state that never was", cut)
			}
		}
	}
}

// JOURNAL-2: what is no file at all gives nothing, and neither keeps the agent from starting nor makes it read without end; the next state is written in its place where
// that can be.
func TestJOURNAL2_WhatIsNoFileGivesNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(path string) error
		// stays says that nothing can be written in its place.
		stays bool
	}{
		{"a folder", func(path string) error { return os.Mkdir(path, 0o700) }, true},
		{"a pipe that nobody writes to", func(path string) error { return syscall.Mkfifo(path, 0o600) }, false},
		{"a device without end", func(path string) error { return os.Symlink("/dev/zero", path) }, false},
		{"a symlink to itself", func(path string) error { return os.Symlink(path, path) }, false},
		{"a file that is larger than any memory", func(path string) error {
			if err := os.WriteFile(path, []byte("berth journal 1\n"), 0o600); err != nil {
				return err
			}
			return os.Truncate(path, 1<<40)
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := c.make(filepath.Join(dir, "log")); err != nil {
				t.Skip(err)
			}
			s, problem := reopen(t, dir)
			if same(t, s, journal.Empty()); problem == nil {
				t.Error("nobody is told")
			}
			if c.stays {
				return
			}
			var last journal.State
			run(t, dir, func(j *journal.Journal, n *node) {
				j.Append(n.setSlot(1, "b"), n.State)
				last = n.State
			})
			s, problem = reopen(t, dir)
			if same(t, s, last); problem != nil {
				t.Error(problem)
			}
		})
	}
}

func flip(b []byte, at int) []byte {
	out := append([]byte(nil), b...)
	out[at] ^= 0x40
	return out
}

func TestJOURNAL3_WhatWaitsIsBounded(t *testing.T) {
	dir := t.TempDir()
	j, s, err := journal.Open(dir, "f")
	if err != nil {
		t.Fatal(err)
	}
	n := &node{s}
	for i := range 5000 { // nobody writes
		j.Append(n.setSlot(i, "b"), n.State)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := j.Run(ctx); err != nil {
		t.Fatal(err)
	}
	got, _ := reopen(t, dir)
	same(t, got, n.State)
	info, err := os.Stat(filepath.Join(dir, "log"))
	if err != nil || info.Size() > 4096 {
		t.Errorf("5,000 changes of 4 slots wrote %d bytes: the records were not merged", info.Size())
	}
}

func TestJOURNAL4_AFailedWriteIsMadeGoodByAWholeFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	j, s, err := journal.Open(dir, "f")
	if err != nil {
		t.Fatal(err)
	}
	n := &node{s}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // as a full disk: no file can be made
		t.Fatal(err)
	}
	j.Append(n.setSlot(1, "b"), n.State)
	go func() { done <- j.Run(ctx) }()
	<-j.Changed()
	if j.Err() == nil {
		t.Fatal("a write that is not possible is no error")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	j.Append(n.setSlot(2, "b"), n.State)
	<-j.Changed()
	if err := j.Err(); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got, problem := reopen(t, dir)
	if problem != nil {
		t.Fatal(problem)
	}
	same(t, got, n.State)
}

// JOURNAL-4: what is appended to a file that was taken away under the journal would be lost at the next start.
func TestJOURNAL4_AFileThatIsTakenAwayIsWrittenAnew(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"removed":         os.Remove,
		"with its folder": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"emptied":         func(path string) error { return os.Truncate(path, 0) },
		"replaced": func(path string) error {
			if err := os.WriteFile(path+".other", []byte("x"), 0o600); err != nil {
				return err
			}
			return os.Rename(path+".other", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "journal")
			path := filepath.Join(dir, "log")
			run(t, dir, func(j *journal.Journal, n *node) {
				j.Append(n.setSlot(1, "b"), n.State)
				written(t, dir, n.State)
				if err := take(path); err != nil {
					t.Fatal(err)
				}
				j.Append(n.setSlot(2, "b"), n.State)
				written(t, dir, n.State)
			})
		})
	}
}

// written waits until the file says what is wanted.
func written(t *testing.T, dir string, want journal.State) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		got, problem := journal.Empty(), error(nil)
		if _, problem = os.Stat(filepath.Join(dir, "log")); problem == nil { // Open would make the folder
			got, problem = reopen(t, dir)
		}
		if problem == nil && wire.MarksOf(got.Revision, got.Generation) == wire.MarksOf(want.Revision, want.Generation) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the file says %v (%v), want %v", wire.MarksOf(got.Revision, got.Generation), problem, wire.MarksOf(want.Revision, want.Generation))
		}
		<-time.After(time.Millisecond)
	}
}

func TestJOURNAL5_RunningIsWhatAWorkerHasRun(t *testing.T) {
	dir := t.TempDir()
	var good *snapshot.Revision
	run(t, dir, func(j *journal.Journal, n *node) {
		j.Append(n.setBackend("good"), n.State)
		n.State.Running = n.Revision
		good = n.Revision
		j.Running(n.State)
		j.Append(n.setBackend("refused"), n.State)
	})
	for range 2 { // the second time from the file that the first has written anew
		run(t, dir, func(_ *journal.Journal, n *node) {
			if n.Running == nil || n.Running.Digest() != good.Digest() || n.Revision.Digest() == good.Digest() {
				t.Fatalf("running %v, held %v", n.Running, n.Revision)
			}
		})
	}
}

func FuzzReplay(f *testing.F) {
	dir := f.TempDir()
	run(f, dir, func(j *journal.Journal, n *node) {
		j.Append(n.setBackend("b"), n.State)
		j.Append(n.setSlot(1, "b"), n.State)
	})
	text, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "log"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, _ := reopen(t, dir)
		if s.Revision == nil || s.Generation == nil {
			t.Fatal("no state")
		}
	})
}

// JOURNAL-6: the folder of another fleet's node, copied or taken over, gives nothing; that of the same fleet and those of before fleets were noted do.
func TestJOURNAL6_AnotherFleetsJournalGivesNothing(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, func(j *journal.Journal, n *node) {
		j.Append(n.setBackend("b"), n.State)
		j.Append(n.setSlot(1, "b"), n.State)
	})
	j, s, err := journal.Open(dir, "other")
	if err != nil || s.Revision.Len() != 0 || s.Generation.Len() != 0 || !j.Foreign() || j.Problem() == nil {
		t.Errorf("another fleet is given %v and %v, foreign %v, %v, %v", s.Revision, s.Generation, j.Foreign(), j.Problem(), err)
	}
	if s, problem := reopen(t, dir); problem != nil || s.Revision.Len() == 0 {
		t.Errorf("the same fleet is given %v, %v", s.Revision, problem)
	}
	text, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	const magic, record = len("berth journal 1\n"), 9 + len("f")
	if err := os.WriteFile(filepath.Join(dir, "log"), append(text[:magic:magic], text[magic+record:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, problem := reopen(t, dir); problem != nil || s.Revision.Len() == 0 {
		t.Errorf("of a journal of before is given %v, %v", s.Revision, problem)
	}
}
