package harness

import (
	"context"
	"fmt"
	"slices"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
)

// Follow tells a plain HAProxy the ready pods of a deployment, each change as soon as the slices say it, until ctx ends.
// Changes that come while one is taken are taken together.
func Follow(ctx context.Context, plain *haproxy.Plain, d *cluster.Deployment) error {
	told := d.Ready()[:0:0]
	for first := true; ; first = false {
		_, changed := d.Endpoints()
		if ready := d.Ready(); first || !slices.Equal(ready, told) {
			if err := plain.Set(d.Service(), ready); err != nil {
				return fmt.Errorf("tell the plain HAProxy of %s: %w", d.Service(), err)
			}
			told = ready
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}
