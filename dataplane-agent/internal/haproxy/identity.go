package haproxy

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Identity is a process that cannot be mistaken for a later one of the same pid.
type Identity struct {
	PID int
	// StartTime is in clock ticks since the machine's boot.
	StartTime uint64
}

// IsZero says whether it stands for no process.
func (i Identity) IsZero() bool { return i.PID == 0 }

// Identify looks a process up. One that has ended and was not reaped yet is os.ErrNotExist like one that is gone.
func Identify(pid int) (Identity, error) {
	s, err := readStat(pid)
	if err != nil {
		return Identity{}, err
	}
	return Identity{pid, s.start}, nil
}

// Alive says whether the process still is that one.
func (i Identity) Alive() bool {
	now, err := Identify(i.PID)
	return err == nil && now == i
}

// parentOf is the pid of a process's parent, 0 if it cannot be told.
func parentOf(pid int) int {
	s, err := readStat(pid)
	if err != nil {
		return 0
	}
	return s.parent
}

// stat is what is read of /proc/PID/stat.
type stat struct {
	parent int
	start  uint64
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, fmt.Errorf("look up process %d: %w", pid, err)
	}
	s, err := parseStat(string(text))
	if err != nil {
		return stat{}, fmt.Errorf("look up process %d: %w", pid, err)
	}
	return s, nil
}

// parseStat reads /proc/PID/stat. The name in brackets may hold anything, so the fields are counted from its end: the state is the 3rd, the
// parent the 4th, the start time the 22nd.
func parseStat(text string) (stat, error) {
	at := strings.LastIndex(text, ")")
	fields := strings.Fields(text[at+1:])
	if at < 0 || len(fields) < 20 {
		return stat{}, fmt.Errorf("%.80q: %w", text, ErrMalformed)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return stat{}, fmt.Errorf("it has ended: %w", os.ErrNotExist)
	}
	parent, parentErr := strconv.Atoi(fields[1])
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err = firstOf(err, parentErr); err != nil {
		return stat{}, fmt.Errorf("%.80q: %w: %w", text, err, ErrMalformed)
	}
	return stat{parent, start}, nil
}
