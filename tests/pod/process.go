package pod

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const configVariable = "BERTH_TEST_POD"

// answerTime bounds how long a pod process may take to start or to answer its parent.
const answerTime = 10 * time.Second

// A Process is a pod in a process of its own. It is the same binary again, so that binary's main (or TestMain) has to
// call Main before anything else.
type Process struct {
	config Config
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has been waited for

	mu     sync.Mutex // held from a command to its answer
	stdin  io.WriteCloser
	stdout *os.File
	lines  *bufio.Scanner
}

// StartProcess starts the pod and returns when it listens.
func StartProcess(config Config) (*Process, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encode the config of pod %s: %w", config.Name, err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the binary for pod %s: %w", config.Name, err)
	}
	p := &Process{config: config, cmd: exec.Command(self), exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), configVariable+"="+string(text))
	p.cmd.Stderr = os.Stderr
	// A pipe of our own: exec's StdoutPipe is closed by Wait, perhaps before the last answer has been read.
	stdout, theirs, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open the output of pod %s: %w", config.Name, err)
	}
	p.cmd.Stdout, p.stdout, p.lines = theirs, stdout, bufio.NewScanner(stdout)
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		err = p.cmd.Start()
	}
	_ = theirs.Close()
	if err != nil {
		_ = stdout.Close()
		return nil, fmt.Errorf("start pod %s: %w", config.Name, err)
	}
	go p.wait()
	p.mu.Lock()
	err = p.answerLocked("start")
	p.mu.Unlock()
	if err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return p, nil
}

// Config returns what the pod was started with.
func (p *Process) Config() Config { return p.config }

// PID is the process's id, for a test that sends it a signal of its own.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Requests asks the pod for its counter.
func (p *Process) Requests() (int64, error) {
	client := http.Client{Timeout: answerTime, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + p.config.Address.String() + RequestsPath)
	if err != nil {
		return 0, fmt.Errorf("ask pod %s for its requests: %w", p.config.Name, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, fmt.Errorf("read how many requests pod %s had: %w", p.config.Name, err)
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

// SetMode makes the pod dead in one of several ways, or alive again.
func (p *Process) SetMode(m Mode) error { return p.command("mode " + string(m)) }

// Terminate lets the pod serve on and end gracefully, and returns when its process is gone. When ctx ends first the
// process is killed.
func (p *Process) Terminate(ctx context.Context, serveOn time.Duration) error {
	if err := p.command("terminate " + serveOn.String()); err != nil {
		return errors.Join(err, p.Kill())
	}
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return errors.Join(ctx.Err(), p.Kill())
	}
}

// Kill ends the process at once; the kernel resets or closes its connections.
func (p *Process) Kill() error {
	err := p.cmd.Process.Kill()
	<-p.exited
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

func (p *Process) command(line string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := fmt.Fprintln(p.stdin, line); err != nil {
		return fmt.Errorf("tell pod %s to %s: %w", p.config.Name, line, err)
	}
	return p.answerLocked(line)
}

func (p *Process) answerLocked(what string) error {
	if !p.lines.Scan() {
		return fmt.Errorf("pod %s died at %q", p.config.Name, what)
	}
	if got := p.lines.Text(); got != "ok" {
		return fmt.Errorf("pod %s at %q: %s", p.config.Name, what, got)
	}
	return nil
}

func (p *Process) wait() {
	_ = p.cmd.Wait() // how a pod ended is not news: tests kill them
	p.mu.Lock()
	_ = p.stdin.Close()
	_ = p.stdout.Close()
	p.mu.Unlock()
	close(p.exited)
}

// Main runs this process as a pod and never returns, if it was started by StartProcess; otherwise it does nothing.
func Main() {
	text := os.Getenv(configVariable)
	if text == "" {
		return
	}
	if err := runProcess(text, os.Stdin, os.Stdout); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runProcess(text string, in io.Reader, out io.Writer) error {
	var config Config
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return fmt.Errorf("read the pod's config from %s: %w", configVariable, err)
	}
	p, err := Start(config)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	commands := make(chan string)
	go func() {
		defer close(commands)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			commands <- lines.Text()
		}
	}()
	_, _ = fmt.Fprintln(out, "ok")
	for {
		select {
		case s := <-signals:
			// A terminal's Ctrl-C reaches the whole group of processes; the parent decides what it means for its pods.
			if s == os.Interrupt {
				continue
			}
			if config.ServeOn <= 0 {
				return p.Kill()
			}
			return p.Terminate(context.Background(), config.ServeOn)
		case line, ok := <-commands:
			if !ok {
				return p.Kill()
			}
			if d, found := strings.CutPrefix(line, "terminate "); found {
				serveOn, err := time.ParseDuration(d)
				if err != nil {
					return err
				}
				_, _ = fmt.Fprintln(out, "ok")
				return p.terminateWithParent(serveOn, commands)
			}
			if err := p.SetMode(Mode(strings.TrimPrefix(line, "mode "))); err != nil {
				_, _ = fmt.Fprintln(out, err)
				continue
			}
			_, _ = fmt.Fprintln(out, "ok")
		}
	}
}

// terminateWithParent serves on, but not beyond the parent's end.
func (p *Pod) terminateWithParent(serveOn time.Duration, commands <-chan string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for range commands { // drained until the parent's end closes it
		}
		cancel()
	}()
	err := p.Terminate(ctx, serveOn)
	if errors.Is(err, context.Canceled) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
