package haproxy

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Master is the process of a master, as the kernel tells.
type Master struct {
	Identity
	// Children are the pids of its processes.
	Children []int
	// Files are the configurations that it reads, files or folders.
	Files []string
}

// Reads says whether the master reads a configuration. One whose files are not known may.
func (m Master) Reads(config string) bool {
	want, err := os.Stat(config)
	if err != nil || len(m.Files) == 0 {
		return true
	}
	folder, folderErr := os.Stat(filepath.Dir(config))
	for _, f := range m.Files {
		if has, err := os.Stat(f); err == nil && (os.SameFile(has, want) || folderErr == nil && os.SameFile(has, folder)) {
			return true
		}
	}
	return false
}

// FindMaster looks for the process that was started as the master behind a socket, whether that socket is still there or not: HAProxy's command line names it. It
// finds only what this user may see.
func FindMaster(socket string) (Master, bool) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	parents := map[int]int{}
	lines := map[int][]byte{}
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		parents[pid] = parentOf(pid)
		if text, err := os.ReadFile(path); err == nil && commands(text, socket) { //nolint:gosec // It is one of the kernel's own.
			lines[pid] = text
		}
	}
	for pid, line := range lines {
		if _, ours := lines[parents[pid]]; ours {
			continue // a worker has its master's command line
		}
		id, err := Identify(pid)
		if err != nil {
			continue
		}
		m := Master{Identity: id, Files: configurations(line, fmt.Sprintf("/proc/%d/cwd", pid))}
		for child, parent := range parents {
			if parent == pid {
				m.Children = append(m.Children, child)
			}
		}
		return m, true
	}
	return Master{}, false
}

// configurations are the files that a command line names, those with a relative path in the folder that the process works in. After -C it works elsewhere, and
// nothing is known.
func configurations(line []byte, cwd string) []string {
	var out []string
	args := strings.Split(string(line), "\x00")
	for i, a := range args {
		switch {
		case a == "-C":
			return nil
		case a != "-f" || i+1 == len(args) || args[i+1] == "":
		case filepath.IsAbs(args[i+1]):
			out = append(out, args[i+1])
		default:
			out = append(out, filepath.Join(cwd, args[i+1]))
		}
	}
	return out
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
		return fmt.Errorf("signal master %d: it is busy with itself: %w", master.PID, ErrNotRunning)
	}
	if err := syscall.Kill(master.PID, syscall.SIGUSR2); err != nil {
		return fmt.Errorf("signal master %d: %w: %w", master.PID, ErrNotRunning, err)
	}
	return nil
}
