package stream

import (
	"fmt"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// look brings the session up to date with the plane: the fleet's log, its newest head, and whether the node can be served from it.
func (x *session) look() {
	x.fleets = x.server.config.Fleets.Fleets()
	fleet, found := x.fleets.Get(x.key.Fleet)
	switch {
	case !found:
		x.fleet, x.head = changelog.Fleet{}, nil
	case fleet.Log != x.fleet.Log:
		x.fleet = fleet
		x.head = x.meet(fleet.Log)
	default:
		x.fleet = fleet
		x.head = fleet.Log.Head()
	}
	x.learn()
	var why node.Problem
	if why, x.flows = x.obstacle(); why != x.waiting {
		x.waiting = why
		x.record.Wait(why)
		switch why.Code {
		case fleetv1.Code_CODE_UNSPECIFIED:
		case fleetv1.Code_CODE_ADOPTING: // each start of the plane has it, for each node
			x.log.Debug().Msg("node waits until slot positions are adopted")
		default:
			x.log.Warn().Str("code", wire.CodeName(why.Code)).Str("reason", why.Message).Msg("node waits")
		}
	}
}

// obstacle is why the node cannot be sent everything now; flows says that endpoints are sent all the same.
func (x *session) obstacle() (why node.Problem, flows bool) {
	switch {
	case x.head == nil:
		return node.Problem{
			Code:    fleetv1.Code_CODE_UNKNOWN_FLEET,
			Message: fmt.Sprintf("there is no Fleet %s; the node is served as soon as there is one", x.key.Fleet),
		}, false
	case x.fleet.Adopting:
		return node.Problem{Code: fleetv1.Code_CODE_ADOPTING, Message: "the control plane has just started and learns from the nodes which slot is whose"}, false
	case x.fleet.Frozen:
		return x.frozen()
	case x.fleet.Waiting != "" && (!x.head.Published() || x.foreign()):
		return node.Problem{Code: fleetv1.Code_CODE_FROZEN, Message: x.fleet.Waiting}, false
	case !x.head.Published():
		return node.Problem{Code: fleetv1.Code_CODE_FROZEN, Message: "nothing has been published yet"}, false
	}
	return node.Problem{}, false
}

// foreign says whether the node holds a revision that this plane has not published or does not remember.
func (x *session) foreign() bool {
	digest := x.held.Revision.Digest
	return !digest.IsZero() && !x.fleet.Log.KnowsRevision(digest)
}

// meet raises the log's epoch above what the node has from another plane, and returns the head. While the fleet adopts, this plane has sent nothing yet: what
// the node has is another's, be it the very same.
func (x *session) meet(log *changelog.Log) *changelog.Head {
	head := log.Head()
	if epoch := max(x.epoch, x.held.Epoch()); epoch > head.Epoch || epoch == head.Epoch && (x.fleet.Adopting || x.contradicts(head)) {
		head = log.RaiseEpoch(epoch)
		x.log.Info().Uint64("epoch", head.Epoch).Msg("the epoch was raised above one that the node has from another plane")
	}
	return head
}

// contradicts says whether the node holds something of the plane's own epoch that the plane has not given out: another plane, this one before it
// started anew perhaps, has counted in the same epoch.
func (x *session) contradicts(head *changelog.Head) bool {
	newest := head.Marks()
	return ahead(x.held.Revision, newest.Revision, head.Epoch) || ahead(x.held.Generation, newest.Generation, head.Epoch)
}

func ahead(held, newest wire.Mark, epoch uint64) bool {
	v := snapshot.Version{Epoch: epoch, Number: newest.Version.Number}
	switch held.Version.Compare(v) {
	case 1:
		return true
	case 0:
		return held.Digest != newest.Digest
	}
	return false
}
