package haproxy

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// An Identity is one process for sure: a pid alone may belong to another by the time it is used.
type Identity struct {
	PID     int
	Started string // in clock ticks after boot, as /proc tells it
}

// Identify returns the identity of a running process.
func Identify(pid int) (Identity, error) {
	_, started, err := stat(pid)
	return Identity{PID: pid, Started: started}, err
}

// Alive tells whether the process still runs. A zombie, which only its parent can take away, does not.
func (i Identity) Alive() bool {
	state, started, err := stat(i.PID)
	return err == nil && started == i.Started && state != "Z" && state != "X"
}

func stat(pid int) (state, started string, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", "", fmt.Errorf("look at process %d: %w", pid, err)
	}
	// The second field is a name in brackets that may itself contain spaces and brackets.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return "", "", fmt.Errorf("look at process %d: its stat is %q", pid, text)
	}
	return fields[0], fields[19], nil
}

// FindByPath returns the processes that have an argument at or below a path: a state directory's HAProxies, for nobody
// else names it.
func FindByPath(path string) ([]Identity, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []Identity
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it ended meanwhile
		}
		for argument := range strings.SplitSeq(string(text), "\x00") {
			if argument != path && !strings.HasPrefix(argument, strings.TrimSuffix(path, "/")+"/") {
				continue
			}
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if id, err := Identify(pid); err == nil && pid != os.Getpid() && id.Alive() {
				found = append(found, id)
			}
			break
		}
	}
	return found, nil
}

// End ends processes: it sends SIGTERM, in the given order, and waits until none is left. When some live on after
// patience they are killed, and that is an error.
func End(processes []Identity, patience time.Duration) error {
	for _, p := range processes {
		if p.Alive() {
			_ = syscall.Kill(p.PID, syscall.SIGTERM) // gone meanwhile is what is wanted
		}
	}
	left := waitForEnd(processes, patience)
	if len(left) == 0 {
		return nil
	}
	for _, p := range left {
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
	}
	err := fmt.Errorf("processes %v lived on for %v after SIGTERM and were killed", left, patience)
	if left := waitForEnd(left, patience); len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("processes %v survived even that", left))
	}
	return err
}

func waitForEnd(processes []Identity, patience time.Duration) []Identity {
	_ = poll(patience, func() (bool, error) {
		processes = slices.DeleteFunc(slices.Clone(processes), func(p Identity) bool { return !p.Alive() })
		return len(processes) == 0, nil
	})
	return processes
}

// poll looks at a state every few milliseconds until it is done or patience is over, and returns the last look's error.
func poll(patience time.Duration, look func() (done bool, err error)) error {
	ticks := time.NewTicker(3 * time.Millisecond)
	defer ticks.Stop()
	for end := time.Now().Add(patience); ; <-ticks.C {
		// The time is taken before the look: a state that came true during the last pause is not missed.
		late := time.Now().After(end)
		if done, err := look(); done || late {
			return err
		}
	}
}
