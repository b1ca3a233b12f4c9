package node

import (
	"slices"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Session is what one stream tells of its node. Once another stream speaks for the node, it tells nothing any more. Its methods may be
// called from any goroutine; the messages that they are given have been checked.
type Session struct {
	registry *Registry
	key      Key
	replaced chan struct{}
}

// Replaced is closed when a newer stream speaks for the node.
func (s *Session) Replaced() <-chan struct{} { return s.replaced }

// Close says that the stream has ended.
func (s *Session) Close() {
	s.tell(func(n *record) bool {
		n.session = nil
		n.view.Connected = false
		n.view.Waiting = Problem{}
		return true
	})
}

// Heard says that a message came. It wakes nobody.
func (s *Session) Heard() {
	s.tell(func(*record) bool { return false })
}

// Wait says that the plane sends the node nothing for now, and why; the zero Problem says that it does.
func (s *Session) Wait(why Problem) {
	s.tell(func(n *record) bool {
		changed := n.view.Waiting != why
		n.view.Waiting = why
		return changed
	})
}

// Keep says what the tables that the node holds beside the plane's add to the digest of its generation; zero when there are none.
func (s *Session) Keep(kept snapshot.Digest) {
	s.tell(func(n *record) bool {
		changed := n.view.kept != kept
		n.view.kept = kept
		return changed
	})
}

// Received says what the node holds now.
func (s *Session) Received(m *fleetv1.Received) {
	s.tell(func(n *record) bool {
		held := marks(m.GetHeld())
		changed := n.view.Held != held
		n.view.Held = held
		return changed
	})
}

// Applied takes in what the node's worker has been read to have. latency is that of the oldest change in it, zero where it is not known.
func (s *Session) Applied(m *fleetv1.Applied, latency time.Duration) {
	// Made before the registry is locked: there may be tens of thousands, and nobody else is to wait for them.
	var excepted []Excepted
	for _, x := range m.GetExcepted() {
		excepted = append(excepted, Excepted{Problem{x.GetCode(), x.GetMessage()}, x.GetBackend(), int(x.GetSlot())})
	}
	s.tell(func(n *record) bool {
		v := &n.view
		v.Applied, v.Dirty = marks(m.GetApplied()), false
		if w := m.GetWorker(); w != nil {
			v.WorkerPID = w.GetPid()
		}
		if h := m.GetHaproxy(); h != nil {
			v.HAProxyVersion, v.Capabilities = h.GetVersion(), h.GetCapabilities()
		}
		if latency > 0 {
			v.Latency = latency
		}
		v.Excepted = excepted
		if v.Failed.overcome(v.Applied) {
			v.Failed = Failure{}
		}
		return true
	})
}

// overcome says whether the node is where it wanted to be when it failed, or beyond.
func (f Failure) overcome(applied wire.Marks) bool {
	return reached(f.Wanted.Revision, applied.Revision) && reached(f.Wanted.Generation, applied.Generation)
}

func reached(wanted, applied wire.Mark) bool {
	return wanted.Digest == applied.Digest || wanted.Version.Compare(applied.Version) < 0
}

// Rejected takes in that HAProxy refused a revision.
func (s *Session) Rejected(m *fleetv1.Rejected) {
	s.tell(func(n *record) bool {
		n.view.reject(m.GetRevision().GetDigest(), Problem{m.GetCode(), m.GetMessage()})
		return true
	})
}

// reject remembers a refused revision, and forgets the oldest of too many.
func (v *View) reject(digest []byte, why Problem) {
	revision, err := snapshot.DigestFromBytes(digest)
	if err != nil {
		panic("BUG: a digest that was not checked: " + err.Error())
	}
	others := slices.DeleteFunc(slices.Clone(v.rejected), func(r rejection) bool { return r.revision == revision })
	if len(others) >= wire.MaxRejected {
		others = others[1:]
	}
	v.rejected = append(others, rejection{why, revision})
}

// Failed takes in that something stands in the node's way.
func (s *Session) Failed(m *fleetv1.Failed) {
	s.tell(func(n *record) bool {
		n.view.Failed = Failure{Problem{m.GetCode(), m.GetMessage()}, marks(m.GetWanted())}
		return true
	})
}

// Observed takes in what the node has seen by itself.
func (s *Session) Observed(m *fleetv1.Observed) {
	s.tell(func(n *record) bool {
		v := &n.view
		if w := m.GetWorker(); w != nil {
			v.WorkerPID = w.GetPid()
		}
		v.OldWorkers, v.Reloads, v.Drifts, v.WorkerRestarts = m.GetOldWorkers(), m.GetReloads(), m.GetDrifts(), m.GetWorkerRestarts()
		v.Dirty = m.GetDirty()
		return true
	})
}

// tell changes the record unless another stream speaks for the node, and wakes the readers if change says so.
func (s *Session) tell(change func(*record) bool) {
	r := s.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.nodes[s.key]
	if n == nil || n.session != s {
		return
	}
	n.view.LastHeard = r.now()
	if change(n) {
		r.touch(n)
	}
}
