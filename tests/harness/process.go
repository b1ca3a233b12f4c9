package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// shownLines is how much of a process's log a failed test shows.
const shownLines = 60

// endPatience is how long a process may take to end after SIGTERM.
const endPatience = 10 * time.Second

// A Process is a product binary that runs. Started again it writes on into the same log.
type Process struct {
	name    string
	path    string
	args    []string
	log     *os.File
	command *exec.Cmd     // nil before the first start
	exited  chan struct{} // closed when the command has been waited for
}

// newProcess prepares a process, whose log is shown if the test fails and which is killed with it.
func newProcess(t T, name, path string, args ...string) *Process {
	t.Helper()
	dir := t.TempDir()
	log, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatalf("open the log of %s: %v", name, err)
	}
	p := &Process{name: name, path: path, args: args, log: log}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("the end of %s's log:\n%s", name, lastLines(p.Log(), shownLines))
		}
		_ = log.Close()
	})
	return p
}

// Start starts it, again if it ran before.
func (p *Process) Start(t T) {
	t.Helper()
	if p.Running() {
		t.Fatalf("start %s: it runs", p.name)
	}
	c := exec.Command(p.path, p.args...)
	c.Stdout, c.Stderr = p.log, p.log
	// Ctrl-C at the demo is for the demo, which ends its processes in order.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatalf("start %s: %v", p.name, err)
	}
	p.command, p.exited = c, make(chan struct{})
	exited := p.exited
	go func() {
		_ = c.Wait() // how it ended is in its log, and in Running
		close(exited)
	}()
}

// Running tells whether the process was started and has not ended.
func (p *Process) Running() bool {
	if p.exited == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// PID is the process's id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Stop sends SIGTERM and waits for the end.
func (p *Process) Stop(t T) {
	t.Helper()
	if !p.Running() {
		t.Errorf("stop %s: it does not run", p.name)
		return
	}
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(endPatience):
		t.Errorf("%s did not end within %v after SIGTERM", p.name, endPatience)
		p.Kill()
	}
}

// Kill ends it as kill -9 does. One that does not run stays as it is.
func (p *Process) Kill() {
	if p.Running() {
		_ = p.command.Process.Kill()
		<-p.exited
	}
}

// Signal sends a signal, such as SIGSTOP to freeze the process.
func (p *Process) Signal(t T, s os.Signal) {
	t.Helper()
	if err := p.command.Process.Signal(s); err != nil {
		t.Fatalf("send %v to %s: %v", s, p.name, err)
	}
}

// Log returns everything that it wrote so far.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func lastLines(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}
