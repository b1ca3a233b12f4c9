package worker

import (
	"context"
	"fmt"

	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
)

// Probe finds out what the worker can do at run time.
func (w *Worker) Probe(ctx context.Context, backend string) (haproxy.Capabilities, error) {
	c, err := w.conn.Probe(ctx, backend)
	if err != nil {
		return c, fmt.Errorf("probe worker %d: %w", w.Process.PID, err)
	}
	return c, nil
}
