package node

import (
	"time"

	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// trouble is a kind of what may stand in the node's way. Each is mended by itself: that a file was written does not mean that a port is free.
type trouble int

// The kinds, the weightiest first: that one is told.
const (
	aboutReload trouble = iota
	aboutWorker
	aboutCertificates
	aboutFiles
	aboutJournal
	aboutSlots
	aboutPacing
	kindsOfTrouble
)

// troubles are what stands in the way now, and what of it the plane was told.
type troubles struct {
	now  [kindsOfTrouble]*fleetv1.Failed
	told *fleetv1.Failed
}

// fail notes that something around the node stands in the way, and tells it once.
func (n *Node) fail(kind trouble, code fleetv1.Code, err error, retryIn time.Duration) {
	f := &fleetv1.Failed{Wanted: n.wanted().Proto(), Code: code, Message: wire.Text(err.Error()), RetryIn: duration(retryIn)}
	if !sameTrouble(n.troubles.now[kind], f) {
		n.log.Error().Err(err).Str("code", code.String()).Dur("retry_in", retryIn).Msg("cannot apply")
	}
	n.troubles.now[kind] = f
	n.tellTrouble()
}

// mended takes back what fail has told of a kind.
func (n *Node) mended(kind trouble) {
	f := n.troubles.now[kind]
	if f == nil {
		return
	}
	n.log.Info().Str("code", f.GetCode().String()).Msg("what had failed works again")
	n.troubles.now[kind] = nil
	n.tellTrouble()
}

func (n *Node) tellTrouble() {
	var worst *fleetv1.Failed
	for _, f := range n.troubles.now {
		if f != nil {
			worst = f
			break
		}
	}
	if worst == nil && n.troubles.told == nil || worst != nil && sameTrouble(n.troubles.told, worst) {
		return
	}
	if n.troubles.told = worst; worst == nil {
		n.tellAgain = true // a plane takes Failed back when it hears of Applied
	}
	n.box.Failed(worst)
}

func sameTrouble(a, b *fleetv1.Failed) bool {
	return a != nil && a.GetCode() == b.GetCode() && a.GetMessage() == b.GetMessage()
}

// wanted is what the node wants to have applied: the newest, but for a revision that HAProxy refuses.
func (n *Node) wanted() wire.Marks {
	rev := n.held.Revision
	if n.loaded != nil && n.rejected.has(rev.Digest()) {
		rev = n.loaded
	}
	return wire.MarksOf(rev, n.held.Generation)
}
