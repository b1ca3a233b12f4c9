package haproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"syscall"
	"time"
)

// StartConfig is what HAProxy is started with.
type StartConfig struct {
	Binary, Config             string
	MasterSocket, WorkerSocket string
	// StateDir gets HAProxy's own output, in haproxy.log.
	StateDir string
	// Listeners are the addresses that nobody else may listen at, each HOST:PORT.
	Listeners []string
}

// Process is a HAProxy master that this agent has started. It is used by one goroutine.
type Process struct {
	cfg StartConfig
	pid int
	// logFrom is where this start's output begins.
	logFrom int64
	ended   bool
	exit    string
}

// Start runs HAProxy in master-worker mode. It goes on when the agent ends (HAPROXY-4).
//
// The option is -W without -D: a daemon forks twice and is nobody's child, so that its end is not noticed; and the `master-worker` keyword is
// deprecated. No -x and no expose-fd: a master hands the listeners to its new workers by itself.
func Start(ctx context.Context, cfg StartConfig) (*Process, error) {
	_ = TrimLog(cfg.StateDir) // a log that stays long harms less than a HAProxy that does not start
	log, at, err := openLog(cfg.StateDir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	// Not CommandContext: HAProxy outlives what started it.
	cmd := exec.Command(cfg.Binary, "-W", "-S", cfg.MasterSocket+",mode,600", "-f", cfg.Config) //nolint:gosec,noctx // The operator names the binary.
	cmd.Stdout, cmd.Stderr = log, log
	// A master whose working directory somebody has removed can never reload again: 2.6 refuses every configuration, and 3.4 ends by a segmentation fault.
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cfg.Binary, err)
	}
	if err := Vacant(ctx, cfg.Listeners); err != nil {
		return nil, fmt.Errorf("start %s: %w", cfg.Binary, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w: %w", cfg.Binary, ErrStart, err)
	}
	p := &Process{cfg: cfg, pid: cmd.Process.Pid, logFrom: at}
	_ = cmd.Process.Release() // Ended reaps it by its pid, which is ours until then
	return p, nil
}

// Vacant says whether nobody listens at the addresses. HAProxy itself would not notice another HAProxy of the same user: they share the port, and each
// gets a part of the connections.
func Vacant(ctx context.Context, addresses []string) error {
	for _, a := range addresses {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a)
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("%w: somebody else listens at %s; is it another HAProxy?", ErrBind, a)
		}
		if err == nil {
			_ = l.Close()
		} // what else there is HAProxy says better
	}
	return nil
}

// PID is the master's.
func (p *Process) PID() int { return p.pid }

// Ended says whether the master has ended, and reaps it. It does not wait.
func (p *Process) Ended() bool {
	if p.ended {
		return true
	}
	_ = TrimLog(p.cfg.StateDir) // as in Start; this is called now and then while HAProxy runs
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(p.pid, &status, syscall.WNOHANG, nil)
	switch {
	case pid == p.pid && status.Signaled():
		p.ended, p.exit = true, fmt.Sprintf("killed by signal %d (%s)", int(status.Signal()), status.Signal())
	case pid == p.pid:
		p.ended, p.exit = true, fmt.Sprintf("exit status %d", status.ExitStatus())
	case errors.Is(err, syscall.ECHILD):
		p.ended, p.exit = true, "unknown exit status"
	}
	return p.ended
}

// Exit says in words how the master ended, "" while it has not.
func (p *Process) Exit() string { return p.exit }

// WaitWorker returns the first worker once it serves, or why there is none.
func (p *Process) WaitWorker(ctx context.Context) (Identity, error) {
	for {
		if id, err := serving(ctx, p.cfg.WorkerSocket); err == nil && parentOf(id.PID) == p.pid {
			return id, nil
		}
		if p.Ended() {
			return Identity{}, fmt.Errorf("HAProxy (%s), %s: %w: %w", p.cfg.Binary, p.exit, ErrStart, judgeLog(logFrom(p.cfg.StateDir, p.logFrom)))
		}
		if err := pause(ctx, pollEvery); err != nil {
			return Identity{}, fmt.Errorf("wait for the first worker of master %d: %w", p.pid, err)
		}
	}
}

// pollEvery is how often a worker that is to come is looked for.
const pollEvery = 2 * time.Millisecond

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err() //nolint:wrapcheck // The caller says what it waited for.
	case <-time.After(d):
		return nil
	}
}

// servingTimeout bounds one look. A worker that serves answers in less than a millisecond; one that has a socket and does not serve yet must not keep
// us from seeing that it never will.
const servingTimeout = 500 * time.Millisecond

// serving asks the runtime socket which worker serves, and fails if that one is leaving. It does not ask through the master, which may be busy starting
// just that worker.
func serving(ctx context.Context, socket string) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, servingTimeout)
	defer cancel()
	r, err := dialSocket(ctx, socket)
	if err != nil {
		return Identity{}, err
	}
	defer func() { _ = r.Close() }()
	return r.serves(ctx)
}

// serves is the worker behind a connection, or an error if it is leaving.
func (r *Runtime) serves(ctx context.Context) (Identity, error) {
	info, err := r.Info(ctx)
	if err != nil {
		return Identity{}, err
	}
	if info.Stopping {
		return Identity{}, fmt.Errorf("worker %d: %w", info.PID, ErrStopping)
	}
	return Identify(info.PID)
}
