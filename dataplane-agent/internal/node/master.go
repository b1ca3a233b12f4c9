package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/berth-proxy/berth/dataplane-agent/internal/disk"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
)

// masterFile says which process the last start of HAProxy made, below the state directory. An agent that comes back knows by it that HAProxy runs though its
// sockets do not answer: a master that executes itself again does not listen, and a second HAProxy would share the ports of the first.
const masterFile = "haproxy.master"

// rememberMaster writes the file.
func rememberMaster(stateDir string, master haproxy.Identity) error {
	text := fmt.Sprintf("%d %d %s\n", master.PID, master.StartTime, boot())
	if err := disk.Write(filepath.Join(stateDir, masterFile), []byte(text), 0o600); err != nil {
		return fmt.Errorf("remember the process of HAProxy: %w", err)
	}
	return nil
}

// recallMaster is what rememberMaster has written since the machine's boot, zero if nothing.
func recallMaster(stateDir string) haproxy.Identity {
	text, err := os.ReadFile(filepath.Join(stateDir, masterFile)) //nolint:gosec // The path is one of the agent's own state directory.
	if err != nil {
		return haproxy.Identity{}
	}
	var master haproxy.Identity
	var when string
	if n, _ := fmt.Sscanf(string(text), "%d %d %s\n", &master.PID, &master.StartTime, &when); n != 3 || when != boot() {
		return haproxy.Identity{}
	}
	return master
}

// boot tells one run of the machine's kernel from another: pids and start times begin anew with each.
func boot() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || len(text) == 0 {
		return "-"
	}
	return strings.TrimSpace(string(text))
}

// foundMaster looks for the HAProxy that was started with this node's socket, which somebody may have removed together with all that the node remembers.
func (n *Node) foundMaster() bool {
	master, found := haproxy.FindMaster(n.cfg.masterSocket())
	if found {
		n.master = master.Identity
	}
	return found
}

// lives says whether a process of the HAProxy that was known lives on, whatever its sockets say.
func (n *Node) lives() bool {
	return n.last.Alive() || n.master.Alive() || n.process != nil && !n.process.Ended()
}
