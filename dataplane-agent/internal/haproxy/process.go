package haproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Identity is a process that cannot be mistaken for a later one of the same pid.
type Identity struct {
	PID int
	// StartTime is in clock ticks since the machine's boot.
	StartTime uint64
}

// IsZero says whether it stands for no process.
func (i Identity) IsZero() bool { return i.PID == 0 }

// Identify looks a process up.
func Identify(pid int) (Identity, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Identity{}, fmt.Errorf("look up process %d: %w", pid, err)
	}
	// The name in brackets may hold anything, so the fields are counted from its end: the state is the 3rd, the start time the 22nd.
	_, rest, ok := cutLast(string(text), ")")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return Identity{}, fmt.Errorf("look up process %d: %.80q: %w", pid, text, ErrMalformed)
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil || fields[0] == "Z" {
		return Identity{}, fmt.Errorf("look up process %d: it has ended: %w", pid, os.ErrNotExist)
	}
	return Identity{pid, start}, nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Alive says whether the process still is that one.
func (i Identity) Alive() bool {
	now, err := Identify(i.PID)
	return err == nil && now == i
}

// StartConfig is what HAProxy is started with.
type StartConfig struct {
	Binary, Config             string
	MasterSocket, WorkerSocket string
	// StateDir gets HAProxy's own output, in haproxy.log.
	StateDir string
}

// LogFile is the name of HAProxy's own output in the state directory.
const LogFile = "haproxy.log"

// maxLog is the size at which the output of earlier starts is dropped.
const maxLog = 1 << 20

// Process is a HAProxy master that this agent has started. It is used by one goroutine.
type Process struct {
	cfg StartConfig
	pid int
	// logFrom is where this start's output begins.
	logFrom int64
	ended   bool
}

// Start runs HAProxy in master-worker mode. It goes on when the agent ends (HAPROXY-4).
func Start(ctx context.Context, cfg StartConfig) (*Process, error) {
	path := filepath.Join(cfg.StateDir, LogFile)
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		_ = os.Truncate(path, 0) // a log that stays long harms nobody
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600) //nolint:gosec // The path is one of the agent's own state directory.
	if err != nil {
		return nil, fmt.Errorf("open %s: %w: %w", path, ErrStart, err)
	}
	defer func() { _ = log.Close() }()
	at, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w: %w", path, ErrStart, err)
	}
	// Not CommandContext: HAProxy outlives what started it.
	cmd := exec.Command(cfg.Binary, "-W", "-S", cfg.MasterSocket+",mode,600", "-f", cfg.Config) //nolint:gosec,noctx // The operator names the binary.
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = cfg.StateDir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cfg.Binary, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w: %w", cfg.Binary, ErrStart, err)
	}
	return &Process{cfg: cfg, pid: cmd.Process.Pid, logFrom: at}, nil
}

// PID is the master's.
func (p *Process) PID() int { return p.pid }

// Ended says whether the master has ended, and reaps it. It does not wait.
func (p *Process) Ended() bool {
	if p.ended {
		return true
	}
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(p.pid, &status, syscall.WNOHANG, nil)
	p.ended = pid == p.pid || errors.Is(err, syscall.ECHILD)
	return p.ended
}

// WaitWorker returns the first worker once it serves, or why there is none.
func (p *Process) WaitWorker(ctx context.Context) (Identity, error) {
	for {
		if id, err := serving(ctx, p.cfg.WorkerSocket); err == nil && parentOf(id.PID) == p.pid {
			return id, nil
		}
		if p.Ended() {
			return Identity{}, fmt.Errorf("%w: %w", ErrStart, judgeLog(p.log()))
		}
		select {
		case <-ctx.Done():
			return Identity{}, fmt.Errorf("wait for the first worker of master %d: %w", p.pid, ctx.Err())
		case <-time.After(pollEvery):
		}
	}
}

func (p *Process) log() string { return logFrom(p.cfg.StateDir, p.logFrom) }

func logFrom(stateDir string, at int64) string {
	f, err := os.Open(filepath.Join(stateDir, LogFile)) //nolint:gosec // The path is one of the agent's own state directory.
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	b, _ := io.ReadAll(io.LimitReader(io.NewSectionReader(f, at, 1<<62), 64<<10)) // what can be read of it is told
	return string(b)
}

func logSize(stateDir string) int64 {
	info, err := os.Stat(filepath.Join(stateDir, LogFile))
	if err != nil {
		return 0
	}
	return info.Size()
}

// parentOf is the pid of a process's parent, 0 if it cannot be told.
func parentOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := cutLast(string(text), ")")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// pollEvery is how often a worker that is to come is looked for.
const pollEvery = 2 * time.Millisecond

// serving asks the runtime socket which worker serves, and fails if that one is leaving. Until a new worker accepts, a connection to it waits.
func serving(ctx context.Context, socket string) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := DialRuntime(ctx, socket)
	if err != nil {
		return Identity{}, err
	}
	defer func() { _ = r.Close() }()
	info, err := r.Info(ctx)
	if err != nil {
		return Identity{}, err
	}
	if info.Stopping {
		return Identity{}, fmt.Errorf("worker %d: %w", info.PID, ErrStopping)
	}
	return Identify(info.PID)
}
