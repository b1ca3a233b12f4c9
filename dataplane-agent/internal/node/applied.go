package node

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// tellApplied reports what was read back, if it is news (NODE-3).
func (n *Node) tellApplied() {
	if n.worker == nil || n.unsure.now(time.Now()) {
		return
	}
	now := n.applied
	if n.loaded != nil && n.repair == plan.None {
		now.Revision = wire.Mark{Version: n.loaded.Version, Digest: n.loaded.Digest()}
	}
	// A map that waits for a reload holds no endpoint back, whatever stands in the reload's way.
	if n.loaded != nil && n.repair != plan.Repair && len(n.stale) == 0 && len(n.later) == 0 && len(n.missing) == 0 {
		now.Generation = wire.Mark{Version: n.held.Generation.Version, Digest: n.held.Generation.Digest()}
	}
	if now == n.applied && !(n.tellAgain || n.excepted.news) {
		return
	}
	a := &fleetv1.Applied{
		Applied: now.Proto(), Worker: n.workerProto(), By: fleetv1.By_BY_RUNTIME, Excepted: n.excepted.proto(),
		Haproxy: &fleetv1.HAProxy{Version: n.haproxy.version, Capabilities: capabilities(n.haproxy.capabilities, n.cfg.AddServers)},
	}
	n.time(a, now)
	n.applied, n.tellAgain, n.excepted.news = now, false, false
	n.box.Applied(a)
	if n.dirty() {
		n.told = nil // who hears of Applied takes the node to be clean
	}
}

// time writes into a report of these marks how the newest of them came into the worker, and how long the oldest change has waited for it.
func (n *Node) time(a *fleetv1.Applied, now wire.Marks) {
	var waited pending
	if now.Generation != n.applied.Generation {
		waited, n.fast = n.fast, pending{}
	}
	if now.Revision != n.applied.Revision {
		a.By, a.Reason = n.by, reasons[n.reason]
		waited, n.slow = waited.older(n.slow), pending{}
	}
	if !waited.since.IsZero() {
		a.Took = duration(time.Since(waited.since))
	}
	if !waited.seen.IsZero() {
		a.Seen = timestamppb.New(waited.seen)
	}
}
