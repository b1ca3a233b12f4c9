package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

type inspection struct {
	backends []string
	reply    chan inspected
}

type inspected struct {
	backends []*fleetv1.InspectedBackend
	err      error
}

// errNoWorker is the answer while no worker runs.
var errNoWorker = errors.New("no worker of HAProxy can be asked")

// Inspect returns what the worker answers just now for these backends, all if none are named.
func (n *Node) Inspect(ctx context.Context, backends []string) ([]*fleetv1.InspectedBackend, error) {
	i := inspection{backends, make(chan inspected, 1)}
	select {
	case n.inspect <- i:
		r := <-i.reply
		return r.backends, r.err
	case <-ctx.Done():
		return nil, errGone
	}
}

func (n *Node) inspected(ctx context.Context, backends []string) inspected {
	if n.worker == nil {
		return inspected{err: errNoWorker}
	}
	ctx, cancel := context.WithTimeout(ctx, n.cfg.CommandTimeout)
	defer cancel()
	servers, err := n.worker.Servers(ctx)
	if err != nil {
		err = fmt.Errorf("inspect worker %d: %w", n.worker.Process.PID, err)
		n.lost(ctx, time.Now(), err)
		return inspected{err: err}
	}
	has := map[string]*fleetv1.InspectedBackend{}
	var all []*fleetv1.InspectedBackend
	for _, s := range servers {
		b := has[s.Backend]
		if b == nil {
			b = &fleetv1.InspectedBackend{Backend: s.Backend}
			has[s.Backend] = b
			all = append(all, b)
		}
		b.Servers = append(b.Servers, inspectedServer(s))
	}
	if len(backends) == 0 {
		return inspected{backends: all}
	}
	var out []*fleetv1.InspectedBackend
	for _, name := range backends {
		if b := has[name]; b != nil {
			out = append(out, b)
		}
	}
	return inspected{backends: out}
}

func inspectedServer(s haproxy.Server) *fleetv1.InspectedServer {
	return &fleetv1.InspectedServer{
		Name: s.Name, Address: s.Addr.String(), Port: uint32(s.Port), Weight: uint32(s.Weight), Maintenance: s.Maint, Drain: s.Drain, Up: s.Up, //nolint:gosec // At most 256.
	}
}
