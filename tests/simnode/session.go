package simnode

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// haproxy is what every simulated node says of its HAProxy.
var haproxy = &fleetv1.HAProxy{Version: "3.4.7", Capabilities: []fleetv1.Capability{fleetv1.Capability_CAPABILITY_ADD_SERVER}}

// worker is what every simulated node says of its worker.
var worker = &fleetv1.Worker{Pid: 1, StartTicks: 1}

// session is one stream of a node. Its fields belong to the goroutine that receives, but for the stream's sending side.
type session struct {
	node      *Node
	stream    grpc.BidiStreamingClient[fleetv1.SyncRequest, fleetv1.SyncResponse]
	assembler wire.Assembler
	// frame is the first of an update that a node without content takes.
	first *fleetv1.Update
	bytes int

	sending sync.Mutex // one Send at a time
}

func (s *session) send(m *fleetv1.SyncRequest) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	if err := s.stream.Send(m); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

func (s *session) greet() error {
	n := s.node
	n.mu.Lock()
	hello := &fleetv1.Hello{
		Fleet: n.options.Fleet, Node: n.options.Name, BootId: n.options.Name, AgentVersion: "simulated", Haproxy: haproxy,
		Held: n.held.Proto(), Applied: n.held.Proto(), Epoch: n.epoch, Worker: worker,
	}
	n.mu.Unlock()
	return s.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Hello{Hello: hello}})
}

func (s *session) beat(ctx context.Context) {
	ticks := time.NewTicker(heartbeat)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if s.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Heartbeat{Heartbeat: &fleetv1.Heartbeat{}}}) != nil {
			return
		}
	}
}

// flood sends reports for as long as they are taken.
func (s *session) flood(ctx context.Context) {
	text := string(make([]byte, 1000))
	for ctx.Err() == nil {
		held := s.node.Held().Proto()
		applied := &fleetv1.Applied{Applied: held, Worker: worker, Haproxy: haproxy, Excepted: []*fleetv1.ExceptedSlot{{Backend: "b", Slot: 1, Message: text}}}
		failed := &fleetv1.Failed{Wanted: held, Code: fleetv1.Code_CODE_DISK, Message: text}
		for _, m := range []*fleetv1.SyncRequest{
			{Message: &fleetv1.SyncRequest_Applied{Applied: applied}}, {Message: &fleetv1.SyncRequest_Failed{Failed: failed}},
			{Message: &fleetv1.SyncRequest_Observed{Observed: &fleetv1.Observed{Worker: worker}}},
		} {
			if s.send(m) != nil {
				return
			}
		}
	}
}

// one takes one message in.
func (s *session) one() error {
	m, err := s.stream.Recv()
	if err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	n := s.node
	switch x := m.GetMessage().(type) {
	case *fleetv1.SyncResponse_Welcome:
		n.mu.Lock()
		n.counts.Streams++
		n.welcomed = true
		n.epoch = max(n.epoch, x.Welcome.GetEpoch())
		n.mu.Unlock()
	case *fleetv1.SyncResponse_Wait:
		n.count(func(c *Counts) { c.Waits++ })
		return waitError{x.Wait.GetRetryAfter().AsDuration()}
	case *fleetv1.SyncResponse_AskBuckets:
		n.count(func(c *Counts) { c.Asked++ })
		if n.options.Manner == NeverAnswers || n.options.MarksOnly {
			return nil
		}
		return s.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Buckets{Buckets: wire.Buckets(x.AskBuckets, n.rev, n.gen)}})
	case *fleetv1.SyncResponse_AskPositions:
		return s.positions()
	case *fleetv1.SyncResponse_Update:
		return s.update(x.Update)
	}
	return nil
}

// positions tells where the endpoints sit in what the node holds.
func (s *session) positions() error {
	n := s.node
	n.count(func(c *Counts) { c.Positions++ })
	if n.options.Manner == NeverAnswers || n.options.MarksOnly {
		return nil
	}
	for _, frame := range wire.PositionFrames(n.gen, 0) {
		if err := s.send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Positions{Positions: frame}}); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) update(frame *fleetv1.Update) error {
	n := s.node
	s.bytes += proto.Size(frame)
	u, complete, err := s.assemble(frame)
	if err != nil {
		n.violated("update %d: %v", frame.GetId(), err)
		return err
	}
	if !complete {
		return nil
	}
	confirms := u.Scope == fleetv1.Scope_SCOPE_CHANGES && u.From == u.To
	n.count(func(c *Counts) {
		c.Updates++
		c.Bytes += s.bytes
		if u.Scope == fleetv1.Scope_SCOPE_EVERYTHING {
			c.Everything++
		}
		if confirms {
			c.Confirmed++
		}
	})
	s.bytes = 0
	if n.options.Manner == NeverAnswers || n.options.Manner == Floods {
		return nil
	}
	return s.answer(u, confirms)
}

// assemble puts the frames of an update together; for a node without content only what leads from where to where.
func (s *session) assemble(frame *fleetv1.Update) (wire.Update, bool, error) {
	if !s.node.options.MarksOnly {
		u, complete, err := s.assembler.Add(frame)
		if err != nil {
			return u, complete, fmt.Errorf("put it together: %w", err)
		}
		return u, complete, nil
	}
	if frame.GetFrame() == 0 {
		s.first = frame
	}
	if !frame.GetLast() {
		return wire.Update{}, false, nil
	}
	from, err1 := wire.MarksFrom(s.first.GetFrom())
	to, err2 := wire.MarksFrom(s.first.GetTo())
	u := wire.Update{ID: frame.GetId(), Scope: s.first.GetScope(), From: from, To: to}
	if s.first.GetSeen() != nil {
		u.Seen = s.first.GetSeen().AsTime()
	}
	return u, true, errors.Join(err1, err2)
}
