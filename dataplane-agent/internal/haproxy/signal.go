package haproxy

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// FindMaster looks for the process that was started as the master behind a socket, whether that socket is still there or not: HAProxy's command line names it. It
// finds only what this user may see.
func FindMaster(socket string) (master Identity, children []int, ok bool) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	parents := map[int]int{}
	var ours []int
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		parents[pid] = parentOf(pid)
		if text, err := os.ReadFile(path); err == nil && commands(text, socket) { //nolint:gosec // It is one of the kernel's own.
			ours = append(ours, pid)
		}
	}
	for _, pid := range ours {
		if slices.Contains(ours, parents[pid]) {
			continue // a worker has its master's command line
		}
		id, err := Identify(pid)
		if err != nil {
			continue
		}
		for child, parent := range parents {
			if parent == pid {
				children = append(children, child)
			}
		}
		return id, children, true
	}
	return Identity{}, nil, false
}

// commands says whether a command line starts a master behind this socket.
func commands(line []byte, socket string) bool {
	args := bytes.Split(line, []byte{0})
	for i, a := range args[:max(0, len(args)-1)] {
		address := string(args[i+1])
		if string(a) == "-S" && (address == socket || strings.HasPrefix(address, socket+",")) {
			return true
		}
	}
	return false
}

// signalled reloads a master whose socket is gone, which puts the socket back. It does so only when the master handles the signal: one that executes itself again
// would be ended by it.
func signalled(master Identity) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", master.PID))
	if err != nil || !master.Alive() {
		return fmt.Errorf("signal master %d: %w", master.PID, ErrNotRunning)
	}
	_, rest, _ := strings.Cut(string(text), "\nSigCgt:")
	caught, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	mask, err := strconv.ParseUint(caught, 16, 64)
	if err != nil || mask&(1<<(uint(syscall.SIGUSR2)-1)) == 0 {
		return fmt.Errorf("signal master %d: it is busy with itself: %w", master.PID, ErrConnection)
	}
	if err := syscall.Kill(master.PID, syscall.SIGUSR2); err != nil {
		return fmt.Errorf("signal master %d: %w: %w", master.PID, ErrNotRunning, err)
	}
	return nil
}
