package haproxy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"syscall"
)

// MasterSocket is the name of the master's socket beside the worker's, in a state directory.
const MasterSocket = "master.sock"

// DialWorker connects to a worker's runtime socket, or to the worker through its master when nobody listens at that socket.
//
// A worker can have lost its socket: after a reload that failed because an address could not be listened on, 3.4 sometimes leaves the socket of
// the worker that did not come up, which refuses every connection, while the worker that goes on listens to a name that is gone. The next reload that
// succeeds mends it. Until then the master leads to the worker; before 3.2 it cannot, and these versions put the socket back.
func DialWorker(ctx context.Context, socket, master string) (*Runtime, error) {
	r, err := dialSocket(ctx, socket)
	if err == nil || !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ENOENT) {
		return r, err
	}
	through, throughErr := dialThrough(ctx, master)
	if throughErr != nil {
		return nil, fmt.Errorf("%w; and through the master: %w", err, throughErr)
	}
	return through, nil
}

// DialRuntime is DialWorker with the master's socket beside the worker's. While a new worker comes up both it and the one before accept: see Info.PID.
func DialRuntime(ctx context.Context, socket string) (*Runtime, error) {
	return DialWorker(ctx, socket, filepath.Join(filepath.Dir(socket), MasterSocket))
}

// dialSocket connects to a worker's runtime socket and to nothing else.
func dialSocket(ctx context.Context, socket string) (*Runtime, error) {
	r := &Runtime{socket: socket}
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// dialThrough connects to the worker that takes new connections through its master, which then passes on whatever is written.
func dialThrough(ctx context.Context, master string) (*Runtime, error) {
	p, err := showBriefly(ctx, master)
	if err != nil {
		return nil, err
	}
	pid, ok := p.Current()
	if !ok {
		return nil, fmt.Errorf("master %d has no worker: %w", p.Master, ErrConnection)
	}
	r := &Runtime{socket: master, greeting: "@@!" + strconv.Itoa(pid) + "\n"}
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	return r, nil
}
