package node

import (
	"context"
	"slices"
	"time"

	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
)

// watchIntake looks whether the worker still lets in the traffic that its revision says, at every look, as a frontend that somebody has disabled is an outage. What is found
// once may be a worker that makes room for another; what is found twice is taken back.
func (n *Node) watchIntake(ctx context.Context, now time.Time) {
	if n.loaded == nil || n.reloading() || n.repair == plan.Repair {
		n.odd = nil
		return
	}
	ctx, cancel := context.WithTimeout(ctx, n.cfg.CommandTimeout)
	defer cancel()
	found, err := n.worker.Intake(ctx, n.loaded)
	if err != nil {
		n.lost(ctx, now, err)
		return
	}
	before := n.odd
	n.odd = found
	if confirmed := slices.DeleteFunc(slices.Clone(found), func(a plan.Amendment) bool { return !slices.Contains(before, a) }); len(confirmed) > 0 {
		n.odd = nil
		n.takeBack(ctx, now, confirmed)
	}
}

// watchHealth does the same, at each verification, for what else than slots keeps servers and backends from traffic.
func (n *Node) watchHealth(ctx context.Context, now time.Time, servers []haproxy.Server) {
	found, err := n.worker.Health(ctx, n.loaded, servers)
	if err != nil {
		n.lost(ctx, now, err)
		return
	}
	n.takeBack(ctx, now, found)
}

// takeBack undoes what somebody has done to the worker, by a reload where nothing else helps, and tells it.
func (n *Node) takeBack(ctx context.Context, now time.Time, found []plan.Amendment) {
	if len(found) == 0 {
		return
	}
	n.drifted(len(found))
	n.log.Warn().Int("changes", len(found)).Str("first", found[0].What).Msg("the worker was changed by somebody else; it is repaired")
	left, err := n.worker.Amend(ctx, found)
	if err != nil {
		n.lost(ctx, now, err)
		return
	}
	if len(left) > 0 {
		n.log.Warn().Str("first", left[0].What).Msg("that cannot be taken back at run time; a reload does it")
		n.repair = plan.Repair
	}
}

// drifted counts what was found otherwise than this node has left it.
func (n *Node) drifted(changes int) {
	n.observed.drifts += uint64(changes) //nolint:gosec // A count.
	n.metrics.drift(changes)
}
