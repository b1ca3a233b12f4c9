package haproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Processes is what the master says of its processes.
type Processes struct {
	Master int
	// Reloads counts the reloads of this master, Failed those of them that failed.
	Reloads, Failed int
	Workers, Old    []int
}

// Show asks the master for its processes. ErrNotRunning says that nobody listens there.
func Show(ctx context.Context, socket string) (Processes, error) {
	text, err := command(ctx, socket, "show proc")
	if err != nil {
		return Processes{}, err
	}
	return ParseProcesses(text)
}

// command has a connection of its own, as the master takes at most 100 and closes them when it reloads.
func command(ctx context.Context, socket, line string) (string, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) {
			return "", fmt.Errorf("%w: %w", ErrNotRunning, err)
		}
		return "", fmt.Errorf("%w: %w", ErrConnection, err)
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := conn.Write([]byte(line + "\n")); err != nil {
		return "", fmt.Errorf("%w: %w", ErrConnection, err)
	}
	if c, ok := conn.(*net.UnixConn); ok {
		_ = c.CloseWrite() // the master answers and ends the connection
	}
	b, err := io.ReadAll(io.LimitReader(conn, 1<<20))
	if err != nil {
		return string(b), fmt.Errorf("%w: %w", ErrConnection, err)
	}
	return string(b), nil
}

// ParseProcesses reads the answer to `show proc`.
func ParseProcesses(text string) (Processes, error) {
	p := Processes{}
	old := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "# old workers"):
			old = true
			continue
		case strings.HasPrefix(line, "#"):
			old = false
			continue
		}
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		pid, err := strconv.Atoi(f[0])
		if err != nil {
			continue
		}
		switch {
		case f[1] == "master":
			p.Master = pid
			p.Reloads, _ = strconv.Atoi(f[2])
			if _, failed, ok := strings.Cut(line, "[failed: "); ok {
				number, _, _ := strings.Cut(failed, "]")
				p.Failed, _ = strconv.Atoi(number)
			}
		case f[1] == "worker" && old:
			p.Old = append(p.Old, pid)
		case f[1] == "worker":
			p.Workers = append(p.Workers, pid)
		}
	}
	if p.Master == 0 {
		return p, fmt.Errorf("processes: no master in %.80q: %w", text, ErrMalformed)
	}
	return p, nil
}

// State is what Look finds.
type State struct {
	// Current says that the worker is the one that takes traffic.
	Current    bool
	OldWorkers int
}

// Look finds out whether a worker still is the one that takes traffic. ErrConnection says that it cannot be told just now: a master that reloads itself does
// not listen for some milliseconds, while its workers live.
func Look(ctx context.Context, master string, worker Identity) (State, error) {
	p, err := Show(ctx, master)
	if errors.Is(err, ErrNotRunning) && worker.Alive() {
		return State{}, fmt.Errorf("%w: %w", ErrConnection, err)
	}
	if err != nil {
		return State{}, err
	}
	s := State{OldWorkers: len(p.Old)}
	for _, pid := range p.Workers {
		s.Current = s.Current || pid == worker.PID && worker.Alive()
	}
	if len(p.Workers) == 0 && worker.Alive() {
		// After a reload that failed the master lists the worker that goes on as an old one.
		for _, pid := range p.Old {
			if pid == worker.PID {
				s.Current = true
				s.OldWorkers--
			}
		}
	}
	return s, nil
}

// Find meets a HAProxy that runs: it returns the worker that serves.
func Find(ctx context.Context, master, socket string) (Identity, error) {
	refused := 0
	for {
		_, showErr := Show(ctx, master)
		id, err := serving(ctx, socket)
		if err == nil && showErr == nil {
			return id, nil
		}
		if errors.Is(showErr, ErrNotRunning) {
			if refused++; err != nil || refused > 100 { // a worker that serves has a master that will listen again
				return Identity{}, showErr
			}
		}
		select {
		case <-ctx.Done():
			return Identity{}, fmt.Errorf("find the worker behind %s: %w", socket, err)
		case <-time.After(10 * pollEvery):
		}
	}
}

// Reload has the master start a new worker, and returns that worker once it serves. It fails as soon as the master counts a failed reload; the worker before
// then goes on.
func Reload(ctx context.Context, master, socket string, previous Identity) (Identity, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before, err := Show(ctx, master)
	if err != nil {
		return Identity{}, err
	}
	stateDir := filepath.Dir(socket)
	logAt := logSize(stateDir)
	answer := make(chan string, 1)
	go func() {
		text, _ := command(ctx, master, "reload") // before 2.7 there is none; it is for people anyway (HAPROXY-3)
		answer <- text
	}()
	id, err := waitNext(ctx, master, socket, previous, before)
	if err != nil {
		var text string
		select {
		case text = <-answer:
		case <-time.After(time.Second):
			cancel()
			text = <-answer
		}
		if errors.Is(err, errReloadFailed) {
			return Identity{}, judgeLog(text + logFrom(stateDir, logAt))
		}
		return Identity{}, err
	}
	cancel()
	<-answer
	return id, nil
}

var errReloadFailed = errors.New("the master counts a failed reload")

func waitNext(ctx context.Context, master, socket string, previous Identity, before Processes) (Identity, error) {
	for i := 0; ; i++ {
		id, err := serving(ctx, socket)
		if err == nil && id != previous {
			return id, nil
		}
		if i%10 == 9 {
			now, err := Show(ctx, master)
			if err == nil && now.Failed > before.Failed {
				return Identity{}, errReloadFailed
			}
			if errors.Is(err, ErrNotRunning) {
				return Identity{}, fmt.Errorf("the master has ended: %w", err)
			}
		}
		select {
		case <-ctx.Done():
			return Identity{}, fmt.Errorf("wait for the new worker: %w", ctx.Err())
		case <-time.After(pollEvery):
		}
	}
}
