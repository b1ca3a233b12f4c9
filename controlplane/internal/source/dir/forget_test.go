package dir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// DIR-9: who orders something from a source that does not run does not wait for ever, nor one that was asked and ends.
func TestForgetOfASourceThatDoesNotRun(t *testing.T) {
	s := New("test", t.TempDir(), zerolog.Nop())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Forget(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("before it runs: %v", err)
	}
	if err := s.Run(ctx, newRecorder()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(context.Background()); !errors.Is(err, source.ErrEnded) {
		t.Errorf("after it ran: %v", err)
	}
}

// DIR-9: what was forgotten is said in a batch that nobody holds back, which has nothing else in it.
func TestForgettingIsByHand(t *testing.T) {
	root := t.TempDir()
	if err := put(filepath.Join(root, "web.yaml"), serviceText("web", 1)); err != nil {
		t.Fatal(err)
	}
	r := newReader("test", root, time.Hour, func(string) {})
	now := time.Now().Add(Rest)
	r.pass(now)
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	r.walkAt = now
	r.pass(now)
	b := r.forget(now)
	if b == nil || !b.ByHand || b.Full || len(b.Gone) != 1 || len(b.Put)+len(b.Reports) > 0 || b.State == nil || !b.State.Synced || !b.State.Forgotten.Equal(now) {
		t.Errorf("the batch is %+v", b)
	}
	if again, _ := r.pass(now); again != nil {
		t.Errorf("and then %+v", again)
	}
}

// DIR-8: files that go one after another go in one batch, one that goes on and on does not hold back the others for more than a second, and
// what changes meanwhile waits for nothing.
func TestFilesThatGoTogether(t *testing.T) {
	root := t.TempDir()
	path := func(i int) string { return filepath.Join(root, fmt.Sprintf("%d.yaml", i)) }
	const files = 150
	for i := range files {
		if err := put(path(i), serviceText(fmt.Sprint("web-", i), 1)); err != nil {
			t.Fatal(err)
		}
	}
	r := newReader("test", root, time.Hour, func(string) {})
	now := time.Now().Add(Rest)
	r.pass(now)
	// Who deletes on a busy machine is held up between two files for longer than a file has to rest.
	first, gone, gap := now, 0, Away-time.Millisecond
	step := func(i int) *source.Batch {
		t.Helper()
		if err := os.Remove(path(i)); err != nil {
			t.Fatal(err)
		}
		r.at(path(i), happening{seen: now})
		b, _ := r.pass(now)
		now = now.Add(gap)
		return b
	}
	for i := range 8 {
		if b := step(i); b != nil {
			t.Fatalf("after file %d went: %+v", i, b)
		}
	}
	if err := put(path(50), serviceText("web-50", 2)); err != nil {
		t.Fatal(err)
	}
	r.at(path(50), happening{seen: now, placed: true})
	if b, _ := r.pass(now); b == nil || len(b.Put) != 1 || len(b.Gone) > 0 {
		t.Fatalf("a change beside what goes: %+v", b)
	}
	now = now.Add(time.Millisecond)
	if !r.next.Equal(now) {
		t.Errorf("it looks again at %s, want %s", r.next.Sub(first), now.Sub(first))
	}
	if b, _ := r.pass(now); b == nil || len(b.Gone) != 8 || !b.Seen.Equal(first) {
		t.Fatalf("at rest: %+v", b)
	}
	first, gap = now, Rest-time.Millisecond
	for i := 51; gone == 0; i++ {
		if b := step(i); b != nil {
			if gone = len(b.Gone); gone < 40 {
				t.Errorf("%d files went together in the end", gone)
			}
		} else if now.Sub(first) > patience+Away {
			t.Fatalf("nothing went in %s", now.Sub(first))
		}
	}
}

// forget is a step of a flow.
func (f *flow) forget(t *testing.T, want string) error {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	got := "nothing"
	switch removed, err := f.source.Forget(ctx); {
	case err == nil:
		got = fmt.Sprint(removed)
	case !errors.Is(err, source.ErrNothingToForget):
		return err
	}
	if got != want {
		return fmt.Errorf("forgets %s", got)
	}
	return nil
}
