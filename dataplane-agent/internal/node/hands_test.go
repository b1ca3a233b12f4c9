package node_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// hold puts a script before the binary that waits in `haproxy -c` until release is called. checking says whether it waits.
func (m *machine) hold() (checking func() bool, release func()) {
	m.t.Helper()
	held, waits := m.socket("hold"), m.socket("checking")
	if err := os.WriteFile(held, nil, 0o600); err != nil {
		m.t.Fatal(err)
	}
	real := m.cfg.HAProxy
	m.cfg.HAProxy = m.socket("haproxy.sh")
	script := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = -c ]; then while [ -e %q ]; do touch %q; sleep 0.02; done; fi\nexec %q \"$@\"\n", held, waits, real)
	if err := os.WriteFile(m.cfg.HAProxy, []byte(script), 0o700); err != nil {
		m.t.Fatal(err)
	}
	release = func() {
		if err := os.Remove(held); err != nil && !errors.Is(err, fs.ErrNotExist) {
			m.t.Fatal(err)
		}
	}
	m.t.Cleanup(release)
	return func() bool { _, err := os.Stat(waits); return err == nil }, release
}

// holdAgain is hold for a machine that has the script already.
func (m *machine) holdAgain() (checking func() bool, release func()) {
	m.t.Helper()
	_ = os.Remove(m.socket("checking"))
	if err := os.WriteFile(m.socket("hold"), nil, 0o600); err != nil {
		m.t.Fatal(err)
	}
	return nil, func() { _ = os.Remove(m.socket("hold")) }
}

// reloads is the number of reloads that the master has done.
func (m *machine) reloads() int {
	m.t.Helper()
	return m.processes().Reloads
}

// processes asks the master, which may be busy with itself for a moment.
func (m *machine) processes() haproxy.Processes {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for {
		p, err := haproxy.Show(ctx, m.socket("master.sock"))
		if err == nil {
			return p
		}
		select {
		case <-ctx.Done():
			m.t.Fatalf("the master does not tell its processes: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// command sends a line to the master.
func (m *machine) command(line string) {
	m.t.Helper()
	m.processes() // it listens
	conn, err := net.Dial("unix", m.socket("master.sock"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = conn.Write([]byte(line + "\n"))
	_ = conn.(*net.UnixConn).CloseWrite()
	_ = conn.SetReadDeadline(time.Now().Add(time.Second)) // a master of 3.4 that executes itself again may never answer
	for buf := make([]byte, 4096); err == nil; {
		_, err = conn.Read(buf)
	}
}

// runtime sends lines to the worker as somebody would by hand.
func (m *machine) runtime(lines ...string) {
	m.t.Helper()
	m.worker(func(r *haproxy.Runtime) {
		if _, err := r.Do(context.Background(), lines); err != nil {
			m.t.Fatal(err)
		}
	})
}

// config is the configuration in force.
func (m *machine) config() string {
	text, _ := os.ReadFile(filepath.Join(m.dir, "haproxy.cfg"))
	return string(text)
}

// lines are the server lines of a backend in a configuration, without their options.
func lines(config, backend string) string {
	_, rest, _ := strings.Cut(config, "\nbackend "+backend+" from berth\n")
	var out []string
	for line := range strings.Lines(rest) {
		f := strings.Fields(line)
		if len(f) == 0 {
			break
		}
		if f[0] == "server" {
			out = append(out, f[2])
		}
	}
	return strings.Join(out, " ")
}

// kill ends a process as nothing else would.
func (m *machine) kill(pid int) {
	m.t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		m.t.Fatalf("kill %d: %v", pid, err)
	}
}

// counter reads one of the agent's metrics.
func (a *agent) counter(name string) float64 {
	a.t.Helper()
	families, err := a.registry.Gather()
	if err != nil {
		a.t.Fatal(err)
	}
	total := 0.0
	for _, f := range families {
		if f.GetName() == name {
			for _, x := range f.GetMetric() {
				total += x.GetCounter().GetValue()
			}
		}
	}
	return total
}

// idles fails if the loop turns more often than its ticker and a few events make it.
func (a *agent) idles(when string) {
	a.t.Helper()
	const window = 500 * time.Millisecond
	before := a.counter("berth_agent_turns_total")
	<-time.After(window)
	if turns := a.counter("berth_agent_turns_total") - before; turns > 100 {
		a.t.Errorf("the loop turned %v times in %s %s", turns, window, when)
	}
}

// failed is what the node says stands in its way now.
func (a *agent) failed() *fleetv1.Failed {
	a.box.Again()
	return a.box.Take().Failed
}

// fails waits until the node says that this stands in its way.
func (a *agent) fails(code fleetv1.Code) {
	a.t.Helper()
	a.until("failed with "+code.String(), func() bool { return a.failed().GetCode() == code })
}

// request sends a request and waits for no answer.
func (m *machine) request(path string) {
	m.t.Helper()
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", m.cfg.Settings.HTTPPort))
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = conn.Close() })
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path); err != nil {
		m.t.Fatal(err)
	}
}

// freeze stops a process until thaw is called, and returns once all of its threads have stopped.
func (m *machine) freeze(pid int) (thaw func()) {
	m.t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		m.t.Fatal(err)
	}
	thaw = func() { _ = syscall.Kill(pid, syscall.SIGCONT) }
	m.t.Cleanup(thaw)
	for deadline := time.Now().Add(5 * time.Second); ; {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		stopped := 0
		for _, path := range threads {
			if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), ") T ") {
				stopped++
			}
		}
		if stopped == len(threads) && stopped > 0 {
			return thaw
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("process %d does not stop", pid)
		}
		<-time.After(time.Millisecond)
	}
}

// endProcess kills a process if it is there.
func (m *machine) endProcess(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }

// hang stops a process for a while.
func (m *machine) hang(pid int, d time.Duration) {
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	<-time.After(d)
	_ = syscall.Kill(pid, syscall.SIGCONT)
}

// tryCommand sends a line to the master, if there is one, and does not wait for what comes of it.
func (m *machine) tryCommand(line string) {
	conn, err := net.Dial("unix", m.socket("master.sock"))
	if err != nil {
		return
	}
	_, _ = conn.Write([]byte(line + "\n"))
	_ = conn.Close()
}

// tryRuntime sends lines to the worker, if there is one.
func (m *machine) tryRuntime(lines ...string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if r, err := haproxy.DialRuntime(ctx, m.socket("worker.sock")); err == nil {
		_, _ = r.Do(ctx, lines)
		_ = r.Close()
	}
}
