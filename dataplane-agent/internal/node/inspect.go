package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
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
	if err := n.worker.ReadAll(ctx); err != nil {
		return inspected{err: fmt.Errorf("inspect worker %d: %w", n.worker.Process.PID, err)}
	}
	has := n.worker.Backends()
	if len(backends) == 0 {
		for b := range has {
			backends = append(backends, b)
		}
	}
	var out []*fleetv1.InspectedBackend
	for _, b := range backends {
		if servers, ok := has[b]; ok {
			out = append(out, inspectedBackend(b, servers))
		}
	}
	return inspected{backends: out}
}

func inspectedBackend(name string, servers []plan.Server) *fleetv1.InspectedBackend {
	out := &fleetv1.InspectedBackend{Backend: name}
	for i, s := range servers {
		out.Servers = append(out.Servers, &fleetv1.InspectedServer{
			Name: render.ServerName(i), Address: s.Address.Addr().String(), Port: uint32(s.Address.Port()), Weight: uint32(s.Weight),
			Maintenance: s.State == snapshot.Free, Drain: s.State == snapshot.Drain, Up: s.State != snapshot.Free,
		})
	}
	return out
}
