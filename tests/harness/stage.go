package harness

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"
)

// T is what the harness needs of a *testing.T. A Stage is one without a test.
type T interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Failed() bool
	Cleanup(f func())
	TempDir() string
}

// WaitFor polls until a condition holds, and fails the test with what it waited for when that does not come true in time.
func WaitFor(t T, patience time.Duration, what string, holds func() bool) {
	t.Helper()
	WaitForNil(t, patience, what, func() error {
		if !holds() {
			return errors.New("it is not so")
		}
		return nil
	})
}

// WaitForNil is WaitFor with a condition that says what is missing.
func WaitForNil(t T, patience time.Duration, what string, check func() error) {
	t.Helper()
	end := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 25*time.Millisecond) {
		// The time is looked at before the check: a condition that came true during the last pause is not missed.
		late := time.Now().After(end)
		err := check()
		if err == nil {
			return
		}
		if late {
			t.Fatalf("waited %v for %s: %v", patience, what, err)
		}
		<-time.After(pause)
	}
}

// A Stage lets a program that is no test use the harness.
type Stage struct {
	out io.Writer

	mu       sync.Mutex // guards what follows
	failures []error
	cleanups []func()
}

// Perform runs f on a stage, then everything that it asked to be cleaned up, and returns what failed. Logs go to out. The
// program's main has to call Reexec before anything else.
func Perform(out io.Writer, f func(s *Stage)) error {
	defer removeBuilt()
	defer stopWatchdog()
	s := &Stage{out: out}
	s.run(func() { f(s) })
	for {
		s.mu.Lock()
		n := len(s.cleanups)
		if n == 0 {
			defer s.mu.Unlock()
			return errors.Join(s.failures...)
		}
		last := s.cleanups[n-1]
		s.cleanups = s.cleanups[:n-1]
		s.mu.Unlock()
		s.run(last)
	}
}

// run calls f in a goroutine of its own, which Fatalf can end.
func (s *Stage) run(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// Helper is there for T.
func (s *Stage) Helper() {}

// Logf writes a line.
func (s *Stage) Logf(format string, args ...any) {
	_, _ = fmt.Fprintf(s.out, format+"\n", args...)
}

// Errorf notes a failure and goes on.
func (s *Stage) Errorf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, fmt.Errorf(format, args...))
}

// Fatalf notes a failure and ends the performance. It may be called from the goroutine that Perform called only.
func (s *Stage) Fatalf(format string, args ...any) {
	s.Errorf(format, args...)
	runtime.Goexit()
}

// Failed tells whether anything failed so far.
func (s *Stage) Failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.failures) > 0
}

// Cleanup has f called at the end, the last one first.
func (s *Stage) Cleanup(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, f)
}

// TempDir makes a directory that is removed at the end.
func (s *Stage) TempDir() string {
	dir, err := os.MkdirTemp("", "berth-")
	if err != nil {
		s.Fatalf("make a temporary directory: %v", err)
	}
	s.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			s.Errorf("remove %s: %v", dir, err)
		}
	})
	return dir
}
