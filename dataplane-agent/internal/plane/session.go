package plane

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"

	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// maxInspected is about how many servers one frame of Inspected holds.
const maxInspected = 2000

// session is one stream. Its goroutines are the receiver, which is run itself, the sender, the watch, and at most one inspection.
type session struct {
	client *Client
	stream grpc.BidiStreamingClient[fleetv1.SyncRequest, fleetv1.SyncResponse]
	cancel context.CancelCauseFunc

	welcomed atomic.Bool
	// heard is since when the receiver waits for a message, in nanoseconds; 0 while the node takes one in.
	heard atomic.Int64
	// arrived counts the bytes of the connection.
	arrived *atomic.Int64

	// assembler is the receiver's alone.
	assembler wire.Assembler

	// mu guards the answers that wait for the sender. They are bounded: the plane sends nothing more before it has them.
	mu      sync.Mutex
	answers []*fleetv1.SyncRequest
	wake    chan struct{}
	// inspecting says that an inspection is under way; its goroutine is waited for.
	inspecting atomic.Bool
	waiting    sync.WaitGroup
	born       time.Time
}

func newSession(
	c *Client, stream grpc.BidiStreamingClient[fleetv1.SyncRequest, fleetv1.SyncResponse], arrived *atomic.Int64, cancel context.CancelCauseFunc,
) *session {
	s := &session{client: c, stream: stream, arrived: arrived, cancel: cancel, wake: make(chan struct{}, 1), born: time.Now()}
	s.heard.Store(s.age())
	return s
}

// age is how long the session has lived, in nanoseconds and never 0. A wall clock that jumps does not alter it.
func (s *session) age() int64 { return max(1, int64(time.Since(s.born))) }

func (s *session) greet() error {
	// In this order: what the node loses after it was asked is news that has this stream end, and must not go with the news of before.
	s.client.box.Again()
	c, h := s.client.cfg, s.client.node.Hello()
	hello := &fleetv1.Hello{
		Fleet: c.Fleet, Node: c.Name, BootId: c.BootID, AgentVersion: c.Version,
		Haproxy: &fleetv1.HAProxy{Version: h.HAProxyVersion, Capabilities: h.Capabilities},
		Held:    h.Held.Proto(), Applied: h.Applied.Proto(), Dirty: h.Dirty, Epoch: h.Epoch, Rejected: h.Rejected, Worker: h.Worker,
	}
	if err := s.stream.Send(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Hello{Hello: hello}}); err != nil {
		return s.reason(err)
	}
	return nil
}

// reason is why the stream ended: Send only says that it has.
func (s *session) reason(err error) error {
	if _, recvErr := s.stream.Recv(); recvErr != nil {
		return recvErr
	}
	return err
}

// run receives until the stream ends, and waits for the session's goroutines (PLANE-5).
func (s *session) run(ctx context.Context) error {
	s.waiting.Go(func() {
		if err := s.send(ctx); err != nil {
			s.cancel(err)
		}
	})
	s.waiting.Go(func() { s.watch(ctx) })
	err := s.receive(ctx)
	s.cancel(nil)
	s.waiting.Wait()
	return err
}

func (s *session) receive(ctx context.Context) error {
	for {
		m, err := s.stream.Recv()
		if err != nil {
			return err //nolint:wrapcheck // The caller says which stream it was.
		}
		// What the node itself takes long for, a disk that hangs say, is no silence of the plane.
		s.heard.Store(0)
		if err := s.take(ctx, m); err != nil {
			return err
		}
		s.heard.Store(s.age())
	}
}

// trickle is how many bytes in a quarter of the silence are a message that comes slowly; what gRPC says by itself is less.
const trickle = 512

// watch ends a stream that is open and carries nothing. It is no part of the sender, which is held up as soon as the other side reads nothing (PLANE-2).
func (s *session) watch(ctx context.Context) {
	ticks := time.NewTicker(s.client.cfg.Silence / 4)
	defer ticks.Stop()
	var before int64
	var moved time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		arrived := s.arrived.Load()
		if arrived-before >= trickle {
			moved = time.Now()
		}
		before = arrived
		heard := s.heard.Load()
		if heard == 0 {
			continue
		}
		if silent := min(time.Duration(s.age()-heard), time.Since(moved)); silent > s.client.cfg.Silence {
			s.cancel(fmt.Errorf("%w: %s", errSilent, silent.Round(time.Millisecond)))
			return
		}
	}
}

func (s *session) take(ctx context.Context, m *fleetv1.SyncResponse) error {
	switch x := m.GetMessage().(type) {
	case *fleetv1.SyncResponse_Welcome:
		s.welcome(ctx, x.Welcome)
	case *fleetv1.SyncResponse_Wait:
		return errWait{x.Wait.GetRetryAfter().AsDuration(), x.Wait.GetMessage()}
	case *fleetv1.SyncResponse_Update:
		return s.update(ctx, x.Update)
	case *fleetv1.SyncResponse_AskBuckets:
		h := s.client.node.Hello()
		s.answer(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Buckets{Buckets: wire.Buckets(x.AskBuckets, h.Revision, h.Generation)}})
	case *fleetv1.SyncResponse_AskPositions:
		for _, frame := range wire.PositionFrames(s.client.node.Hello().Generation, wire.FrameSize) {
			s.answer(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Positions{Positions: frame}})
		}
	case *fleetv1.SyncResponse_Inspect:
		s.inspect(ctx, x.Inspect)
	case *fleetv1.SyncResponse_Heartbeat:
		s.client.node.SawEpoch(ctx, x.Heartbeat.GetEpoch())
	}
	return nil
}

func (s *session) welcome(ctx context.Context, w *fleetv1.Welcome) {
	s.client.node.SawEpoch(ctx, w.GetEpoch())
	if !s.welcomed.Swap(true) {
		s.client.log.Info().Uint64("epoch", w.GetEpoch()).Msg("connected to the control plane")
	}
	if w.GetWaiting() != fleetv1.Code_CODE_UNSPECIFIED {
		level := zerolog.WarnLevel
		if w.GetWaiting() == fleetv1.Code_CODE_ADOPTING {
			level = zerolog.InfoLevel // it is so after each start of a plane
		}
		s.client.log.WithLevel(level).Str("code", w.GetWaiting().String()).Str("fleet", s.client.cfg.Fleet).Msg("the control plane sends nothing for now: " + w.GetMessage())
	}
}

func (s *session) update(ctx context.Context, frame *fleetv1.Update) error {
	u, complete, err := s.assembler.Add(frame)
	if err != nil {
		return fmt.Errorf("take update %d: %w", frame.GetId(), err)
	}
	if !complete {
		return nil
	}
	received, err := s.client.node.Deliver(ctx, u)
	if err != nil {
		return fmt.Errorf("deliver update %d: %w", frame.GetId(), err)
	}
	s.answer(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Received{Received: received}})
	return nil
}

func (s *session) answer(m *fleetv1.SyncRequest) {
	s.mu.Lock()
	s.answers = append(s.answers, m)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// inspect asks the worker beside the receiver, so that updates are not held up. A plane that asks again before it has its answer gets none.
func (s *session) inspect(ctx context.Context, ask *fleetv1.Inspect) {
	if s.inspecting.Swap(true) {
		return
	}
	s.waiting.Go(func() {
		defer s.inspecting.Store(false)
		backends, err := s.client.node.Inspect(ctx, ask.GetBackends())
		s.answerInspect(ask.GetId(), backends, err)
	})
}

func (s *session) answerInspect(id uint64, backends []*fleetv1.InspectedBackend, err error) {
	put := func(f *fleetv1.Inspected) {
		s.answer(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Inspected{Inspected: f}})
	}
	if err != nil {
		put(&fleetv1.Inspected{Id: id, Last: true, Code: fleetv1.Code_CODE_UNREACHABLE, Message: wire.Text(err.Error())})
		return
	}
	frame := &fleetv1.Inspected{Id: id, Code: fleetv1.Code_CODE_OK}
	servers := 0
	for _, b := range backends {
		if servers > 0 && servers+len(b.GetServers()) > maxInspected {
			put(frame)
			frame, servers = &fleetv1.Inspected{Id: id, Code: fleetv1.Code_CODE_OK}, 0
		}
		frame.Backends = append(frame.Backends, b)
		servers += len(b.GetServers())
	}
	frame.Last = true
	put(frame)
}

// errSilent ends a stream that is open and carries nothing (PLANE-2).
var errSilent = errors.New("nothing was heard from the plane for too long")

// send writes what waits: answers first, then news, and a heartbeat when it has been quiet.
func (s *session) send(ctx context.Context) error {
	heartbeat := time.NewTimer(s.client.cfg.Heartbeat)
	defer heartbeat.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-s.client.box.Wake():
		case <-heartbeat.C:
			if err := s.put(&fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Heartbeat{Heartbeat: s.heartbeat()}}); err != nil {
				return err
			}
		}
		for _, m := range s.waitingAnswers() {
			if err := s.put(m); err != nil {
				return err
			}
		}
		if err := s.sendNews(); err != nil {
			return err
		}
		heartbeat.Reset(s.client.cfg.Heartbeat)
	}
}

func (s *session) waitingAnswers() []*fleetv1.SyncRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.answers
	s.answers = nil
	return out
}

// errGreet ends a stream whose Hello said more than the node holds now.
var errGreet = errors.New("the node has lost a part of what it has told the plane; it greets anew")

func (s *session) sendNews() error {
	n := s.client.box.Take()
	if n.Greet {
		return errGreet
	}
	var list []*fleetv1.SyncRequest
	if n.Applied != nil {
		list = append(list, &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Applied{Applied: n.Applied}})
	}
	if n.Rejected != nil {
		list = append(list, &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Rejected{Rejected: n.Rejected}})
	}
	if n.Failed != nil {
		list = append(list, &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Failed{Failed: n.Failed}})
	}
	if n.Observed != nil {
		list = append(list, &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Observed{Observed: n.Observed}})
	}
	for _, m := range list {
		if err := s.put(m); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) put(m *fleetv1.SyncRequest) error {
	if err := s.stream.Send(m); err != nil {
		return fmt.Errorf("send to the plane: %w", err)
	}
	return nil
}

func (s *session) heartbeat() *fleetv1.Heartbeat {
	h := s.client.node.Hello()
	return &fleetv1.Heartbeat{Newest: h.Applied.Proto(), Epoch: h.Epoch}
}
