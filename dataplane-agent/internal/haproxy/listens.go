package haproxy

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// listening is the state of a socket that listens, in /proc/PID/net/tcp.
const listening = "0A"

// Listens says whether a process listens at a TCP port, at whatever address. It is false where that cannot be seen.
func (i Identity) Listens(port int) bool {
	inodes := map[string]bool{}
	for _, table := range []string{"tcp", "tcp6"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", i.PID, table))
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if inode, at, ok := parseSocket(lines.Text()); ok && at == port {
				inodes["socket:["+inode+"]"] = true
			}
		}
		_ = f.Close()
	}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", i.PID))
	for _, path := range files {
		if to, err := os.Readlink(path); err == nil && inodes[to] {
			return true
		}
	}
	return false
}

// parseSocket reads a line of /proc/PID/net/tcp of a socket that listens: the local address is the 2nd field, the state the 4th, the inode the 10th.
func parseSocket(line string) (inode string, port int, ok bool) {
	f := strings.Fields(line)
	if len(f) < 10 || f[3] != listening {
		return "", 0, false
	}
	_, text, ok := strings.Cut(f[1], ":")
	n, err := strconv.ParseUint(text, 16, 16)
	return f[9], int(n), ok && err == nil
}
