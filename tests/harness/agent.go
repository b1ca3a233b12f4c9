package harness

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/berth-proxy/berth/tests/harness/haproxy"
)

// AgentOptions says how an agent is started.
type AgentOptions struct {
	Planes      []string // HOST:PORT of each control plane
	Fleet       string   // left to the agent when empty
	Node        string
	HAProxy     string   // the binary's path; empty when Flags attach the agent to a running HAProxy
	StateDir    string   // a new one when empty
	BindAddress string   // 127.0.0.1 when empty
	Flags       []string // any others
}

// An Agent is an agent process and the HAProxy that it runs, which outlives it.
type Agent struct {
	*Process
	Node           string
	StateDir       string
	BindAddress    string
	HTTPPort       int
	HTTPSPort      int
	MetricsAddress string
}

// StartAgent starts an agent. It does not wait: an agent may have nothing to serve yet (see WaitServing).
func StartAgent(t T, o AgentOptions) *Agent {
	t.Helper()
	a := NewAgent(t, o)
	a.Start(t)
	return a
}

// NewAgent prepares an agent without starting it.
func NewAgent(t T, o AgentOptions) *Agent {
	t.Helper()
	a := &Agent{
		Node: o.Node, StateDir: o.StateDir, BindAddress: o.BindAddress, HTTPPort: Port(t), HTTPSPort: Port(t),
		MetricsAddress: fmt.Sprintf("127.0.0.1:%d", Port(t)),
	}
	if a.StateDir == "" {
		a.StateDir = filepath.Join(t.TempDir(), "state")
	}
	if a.BindAddress == "" {
		a.BindAddress = "127.0.0.1"
	}
	args := []string{
		"--node", o.Node, "--state-dir", a.StateDir, "--bind-address", a.BindAddress,
		"--http-port", strconv.Itoa(a.HTTPPort), "--https-port", strconv.Itoa(a.HTTPSPort), "--metrics-address", a.MetricsAddress,
	}
	if o.HAProxy != "" {
		args = append(args, "--haproxy", o.HAProxy)
	}
	if o.Fleet != "" {
		args = append(args, "--fleet", o.Fleet)
	}
	for _, p := range o.Planes {
		args = append(args, "--plane", p)
	}
	guard(t, a.StateDir)
	t.Cleanup(func() { a.endHAProxy(t) }) // after the agent has ended, which newProcess sees to
	a.Process = newProcess(t, "agent-"+o.Node, Binary(t, "berth-agent"), append(args, o.Flags...)...)
	return a
}

// HTTP is where the node serves HTTP, HTTPS where it serves HTTPS.
func (a *Agent) HTTP() string { return net.JoinHostPort(a.BindAddress, strconv.Itoa(a.HTTPPort)) }

// HTTPS is where the node serves HTTPS.
func (a *Agent) HTTPS() string { return net.JoinHostPort(a.BindAddress, strconv.Itoa(a.HTTPSPort)) }

// WorkerSocket is the socket of the worker that takes traffic now.
func (a *Agent) WorkerSocket() string { return filepath.Join(a.StateDir, "worker.sock") }

// MasterSocket is the master's socket.
func (a *Agent) MasterSocket() string { return filepath.Join(a.StateDir, "master.sock") }

// Watch is what a haproxy.Sampler needs to look at this node.
func (a *Agent) Watch() haproxy.Watch {
	bind := netip.MustParseAddr(a.BindAddress)
	return haproxy.Watch{
		Name: a.Node, Socket: a.WorkerSocket(),
		Listeners: []netip.AddrPort{netip.AddrPortFrom(bind, uint16(a.HTTPPort)), netip.AddrPortFrom(bind, uint16(a.HTTPSPort))},
	}
}

// WaitServing waits until the node's HAProxy accepts connections and its worker answers, whether its agent runs or not.
func (a *Agent) WaitServing(t T, patience time.Duration) {
	t.Helper()
	WaitForNil(t, patience, "node "+a.Node+" to serve", func() error {
		conn, err := net.Dial("tcp", a.HTTP())
		if err == nil {
			_ = conn.Close()
			_, err = haproxy.WorkerPID(a.WorkerSocket())
		}
		if err != nil && !a.Running() {
			return fmt.Errorf("%w (and its agent does not run)", err)
		}
		return err
	})
}

// Servers returns the worker's own answer about a backend, or about all when it is empty.
func (a *Agent) Servers(t T, backend string) []haproxy.Server {
	t.Helper()
	servers, err := haproxy.Servers(a.WorkerSocket(), backend)
	if err != nil {
		t.Fatalf("ask the worker of node %s: %v", a.Node, err)
	}
	return servers
}

// HAProxies returns the processes of the node's HAProxy, the master first.
func (a *Agent) HAProxies() ([]haproxy.Identity, error) {
	// The master's answer may be cut short (show proc stops at 202 entries), and it may be dead; /proc knows the rest.
	var all []haproxy.Identity
	listed, _ := haproxy.Processes(a.MasterSocket())
	for _, p := range listed {
		if id, err := haproxy.Identify(p.PID); err == nil {
			all = append(all, id)
		}
	}
	found, err := haproxy.FindByPath(a.StateDir)
	if err != nil {
		return nil, fmt.Errorf("find the HAProxies of node %s: %w", a.Node, err)
	}
	for _, id := range found {
		isAgent := a.Process != nil && a.Running() && id.PID == a.PID()
		if !isAgent && !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return all, nil
}

// KillWorker kills the worker that takes traffic, which makes its master end, too, or start another, as its version does.
func (a *Agent) KillWorker(t T) {
	t.Helper()
	pid, err := haproxy.WorkerPID(a.WorkerSocket())
	if err != nil {
		t.Fatalf("find the worker of node %s: %v", a.Node, err)
	}
	process, err := os.FindProcess(pid)
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		t.Fatalf("kill the worker of node %s: %v", a.Node, err)
	}
}

// StopHAProxy ends the node's HAProxy, while its agent may run on.
func (a *Agent) StopHAProxy(t T) {
	t.Helper()
	a.endHAProxy(t)
}

func (a *Agent) endHAProxy(t T) {
	t.Helper()
	// Twice: a worker that was being started at the first look has been started at the second.
	for range 2 {
		all, err := a.HAProxies()
		if err == nil {
			err = haproxy.End(all, endPatience)
		}
		if err != nil {
			t.Errorf("end the HAProxy of node %s: %v", a.Node, err)
		}
	}
}
