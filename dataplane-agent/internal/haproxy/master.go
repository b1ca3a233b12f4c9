package haproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Show asks the master for its processes. ErrNotRunning says that nobody listens there.
func Show(ctx context.Context, master string) (Processes, error) {
	text, err := command(ctx, master, "show proc")
	if err != nil {
		return Processes{}, err
	}
	return ParseProcesses(text)
}

// briefly is how long a master that is asked again and again may take for one answer. While 3.4 executes itself again it can accept a connection that nobody ever
// answers, and asked anew it does.
const briefly = 300 * time.Millisecond

// showBriefly is Show for who asks again.
func showBriefly(ctx context.Context, master string) (Processes, error) {
	ctx, cancel := context.WithTimeout(ctx, briefly)
	defer cancel()
	return Show(ctx, master)
}

// maxMasterAnswer bounds an answer of the master. The longest is the log of a start.
const maxMasterAnswer = 4 << 20

// command has a connection of its own, as the master takes at most 100 and closes them when it reloads. An answer that ends without a byte is ErrConnection:
// before 2.7 a master that reloads takes connections and drops them.
func command(ctx context.Context, master, line string) (string, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	conn, err := dialMaster(ctx, master)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	defer expire(ctx, conn)()
	if _, err := conn.Write([]byte(line + "\n")); err != nil {
		return "", fmt.Errorf("%s: %w: %w", line, ErrConnection, err)
	}
	_ = conn.CloseWrite() // the master answers and ends the connection
	b, err := io.ReadAll(io.LimitReader(conn, maxMasterAnswer))
	switch {
	case err != nil && ctx.Err() != nil:
		return string(b), fmt.Errorf("%s: %w: %w", line, ErrConnection, ctx.Err())
	case err != nil:
		return string(b), fmt.Errorf("%s: %w: %w", line, ErrConnection, err)
	case len(b) == 0:
		return "", fmt.Errorf("%s: the master has closed the connection: %w", line, ErrConnection)
	case strings.HasPrefix(string(b), noTarget):
		return "", fmt.Errorf("%s: %.80q: %w", line, b, ErrConnection)
	default:
		return string(b), nil
	}
}

// noTarget is how a master begins to say that it cannot reach a worker, or itself while it reloads. It says so of reloads that succeed, too.
const noTarget = "Can't "

func dialMaster(ctx context.Context, master string) (*net.UnixConn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", master)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return nil, fmt.Errorf("%w: %w", ErrNotRunning, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrConnection, err)
	}
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		panic("BUG: a unix address gave a connection of another kind")
	}
	return unix, nil
}

// State is what Look finds.
type State struct {
	// Current says that the worker is the one that takes traffic.
	Current    bool
	OldWorkers int
}

// Look finds out whether a worker still is the one that takes traffic. While it lives, the only error is ErrConnection: it cannot be told just now, such as
// when a master that reloads itself does not listen for some milliseconds.
func Look(ctx context.Context, master string, worker Identity) (State, error) {
	s, err := look(ctx, master, worker)
	if err != nil && !errors.Is(err, ErrConnection) && worker.Alive() {
		err = fmt.Errorf("%w: %w", ErrConnection, err)
	}
	return s, err
}

func look(ctx context.Context, master string, worker Identity) (State, error) {
	p, err := showBriefly(ctx, master)
	if err != nil {
		return State{}, err
	}
	if pid, ok := p.Current(); ok && pid == worker.PID {
		return State{Current: worker.Alive(), OldWorkers: p.Leaving()}, nil
	}
	if !p.lists(worker.PID) || !worker.Alive() {
		return State{OldWorkers: p.Leaving()}, nil
	}
	// The master names a new worker before that one serves, and it may never come to it. Until it does, the worker before is not told to leave.
	text, err := command(ctx, master, "@!"+strconv.Itoa(worker.PID)+" show info")
	var info Info
	if err == nil {
		info, err = ParseInfo(text)
	}
	switch {
	case err != nil && !worker.Alive():
		return State{OldWorkers: max(0, p.Leaving()-1)}, nil // it has ended meanwhile
	case err != nil:
		return State{}, err
	}
	if info.Stopping {
		return State{OldWorkers: p.Leaving()}, nil
	}
	return State{Current: true, OldWorkers: max(0, p.Leaving()-1)}, nil
}

// Find meets a HAProxy that runs: it returns the worker that serves.
func Find(ctx context.Context, master, socket string) (Identity, error) {
	refused := 0
	for {
		_, showErr := showBriefly(ctx, master)
		id, err := findServing(ctx, master, socket)
		if err == nil && showErr == nil {
			return id, nil
		}
		if errors.Is(showErr, ErrNotRunning) {
			if refused++; err != nil || refused > 100 { // a worker that serves has a master that will listen again
				return Identity{}, showErr
			}
		}
		if pauseErr := pause(ctx, 10*pollEvery); pauseErr != nil {
			return Identity{}, fmt.Errorf("find the worker behind %s: %w", socket, firstOf(err, showErr, pauseErr))
		}
	}
}

func findServing(ctx context.Context, master, socket string) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, servingTimeout)
	defer cancel()
	r, err := DialWorker(ctx, socket, master)
	if err != nil {
		return Identity{}, err
	}
	defer func() { _ = r.Close() }()
	return r.serves(ctx)
}
