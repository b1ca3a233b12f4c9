package soak

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A moment waits for when a fault is to happen.
type moment func(r *Run, n *node, random *rand.Rand) error

// atOnce is now.
func atOnce(*Run, *node, *rand.Rand) error { return nil }

// inBatch is while endpoint changes go to the worker: they take some milliseconds from the file to there.
func inBatch(r *Run, _ *node, random *rand.Rand) error {
	if err := r.churn.ticks(); err != nil {
		return err
	}
	<-time.After(time.Duration(random.IntN(30)) * time.Millisecond)
	return nil
}

// inReload is while a configuration is checked, a new worker starts, or it is brought to the newest slots.
func inReload(r *Run, n *node, random *rand.Rand) error {
	before := newest(n)
	if err := r.churn.structural(); err != nil {
		return err
	}
	// A node that reloaded a moment ago waits with the next, and one without an agent never does: then it happens at no special moment.
	for end := time.Now().Add(1200 * time.Millisecond); !newest(n).After(before) && time.Now().Before(end); {
		<-time.After(2 * time.Millisecond)
	}
	<-time.After(time.Duration(random.IntN(150)) * time.Millisecond)
	return nil
}

// newest is when the agent has written its newest configuration, to be checked or to be used.
func newest(n *node) time.Time {
	var t time.Time
	for _, name := range []string{"next/haproxy.cfg", "haproxy.cfg"} {
		if info, err := os.Stat(filepath.Join(n.StateDir, name)); err == nil && info.ModTime().After(t) {
			t = info.ModTime()
		}
	}
	return t
}

func agentKilled(when moment) func(*Run, *node, *rand.Rand) (func() error, error) {
	return func(r *Run, n *node, random *rand.Rand) (func() error, error) {
		err := when(r, n, random)
		n.Kill()
		return func() error { n.Start(r.t); return nil }, err
	}
}

func agentFrozen(r *Run, n *node, _ *rand.Rand) (func() error, error) {
	n.Signal(r.t, syscall.SIGSTOP)
	return func() error { n.Signal(r.t, syscall.SIGCONT); return nil }, nil
}

// journalHarmed harms the journal while its agent is dead.
func journalHarmed(harm func(path string, random *rand.Rand) error) func(*Run, *node, *rand.Rand) (func() error, error) {
	return func(r *Run, n *node, random *rand.Rand) (func() error, error) {
		n.Kill()
		err := harm(filepath.Join(n.StateDir, "journal", "log"), random)
		if err != nil {
			err = fmt.Errorf("harm the journal of %s: %w", n.Label(), err)
		}
		return func() error { n.Start(r.t); return nil }, err
	}
}

// cutShort takes the end away, as a machine does that lost its power.
func cutShort(path string, random *rand.Rand) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return errors.New("it is empty")
	}
	return os.Truncate(path, info.Size()-1-random.Int64N(min(info.Size(), 300)))
}

// altered turns a bit somewhere.
func altered(path string, random *rand.Rand) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(text) == 0 {
		return errors.New("it is empty")
	}
	text[random.IntN(len(text))] ^= 1 << random.IntN(8)
	return os.WriteFile(path, text, 0o600)
}

func gone(path string, _ *rand.Rand) error { return os.Remove(path) }
