package rig

import (
	"bufio"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/berth-proxy/berth/tests/harness"
)

// A Tap stands between an agent and its worker's runtime socket, and writes down the commands that change something. It sees what the worker is told and
// not what the agent says that it told.
type Tap struct {
	listener net.Listener
	real     string

	mu       sync.Mutex // guards what follows
	commands []string
	open     []net.Conn
	closed   bool

	serving sync.WaitGroup
}

// Tap puts itself in the place of the node's worker socket. The agent is to be started after it: one that runs has its connection already. It stands until the
// next reload, which puts a socket of its own there, or until the test is over.
func (n *Node) Tap(t harness.T) *Tap {
	t.Helper()
	path := n.WorkerSocket()
	tap := &Tap{real: path + ".real"}
	if err := os.Rename(path, tap.real); err != nil {
		t.Fatalf("move the worker's socket: %v", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatalf("listen in the place of the worker: %v", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	tap.listener = l
	tap.serving.Go(tap.serve)
	t.Cleanup(func() {
		tap.close()
		if err := os.Rename(tap.real, path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("move the worker's socket back: %v", err)
		}
	})
	return tap
}

func (t *Tap) close() {
	_ = t.listener.Close()
	t.mu.Lock()
	t.closed = true
	open := t.open
	t.mu.Unlock()
	for _, c := range open {
		_ = c.Close()
	}
	t.serving.Wait()
}

func (t *Tap) serve() {
	for {
		agent, err := t.listener.Accept()
		if err != nil {
			return
		}
		worker, err := net.Dial("unix", t.real)
		if err != nil {
			_ = agent.Close()
			continue
		}
		t.mu.Lock()
		t.open = append(t.open, agent, worker)
		closed := t.closed
		t.mu.Unlock()
		if closed {
			_, _ = agent.Close(), worker.Close()
			continue
		}
		t.serving.Go(func() { t.forward(agent, worker) })
		t.serving.Go(func() { t.back(agent, worker) })
	}
}

// reading are the commands that only ask.
var reading = []string{"show", "prompt", "help", "get"}

// forward carries commands to the worker and notes those that change something.
func (t *Tap) forward(agent, worker net.Conn) {
	defer func() { _ = worker.(*net.UnixConn).CloseWrite() }()
	lines := bufio.NewReader(agent)
	for {
		line, err := lines.ReadString('\n')
		for _, c := range strings.Split(line, ";") {
			c = strings.TrimSpace(c)
			first, _, _ := strings.Cut(c, " ")
			if c != "" && !slices.Contains(reading, first) {
				t.mu.Lock()
				t.commands = append(t.commands, c)
				t.mu.Unlock()
			}
		}
		if _, werr := worker.Write([]byte(line)); err != nil || werr != nil {
			return
		}
	}
}

func (t *Tap) back(agent, worker net.Conn) {
	defer func() { _ = agent.Close() }()
	b := make([]byte, 64<<10)
	for {
		n, err := worker.Read(b)
		if _, werr := agent.Write(b[:n]); err != nil || werr != nil {
			return
		}
	}
}

// Commands are those that changed something.
func (t *Tap) Commands() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.commands)
}
