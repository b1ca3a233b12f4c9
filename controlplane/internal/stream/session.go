package stream

import (
	"errors"
	"io"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// session is one stream. Its fields belong to the goroutine of run, except those of the first group, which never change.
type session struct {
	server *Server
	stream grpc.BidiStreamingServer[fleetv1.SyncRequest, fleetv1.SyncResponse]
	// in and failed come from the receiver and the sender, out goes to the sender. None has a buffer: what is not taken yet has not happened.
	in          chan *fleetv1.SyncRequest
	out         chan any
	failed      chan error
	inspections chan *inspection
	// done is closed when run has returned.
	done chan struct{}

	// Who the node is; set by its Hello.
	key     node.Key
	address string
	record  *node.Session
	log     zerolog.Logger

	// fleets and head are what the session has looked at; fleet is of the log that head is of, and zero while there is none.
	fleets *changelog.Fleets
	fleet  changelog.Fleet
	head   *changelog.Head
	// epoch is the highest that the node had seen when it connected.
	epoch uint64
	// waiting is why nothing is sent for now; flows says that endpoints are all the same.
	waiting node.Problem
	flows   bool

	// held is what the node says that it holds. confirm asks for an update even if that is the newest, because the node is dirty.
	held     wire.Marks
	confirm  bool
	rejected map[snapshot.Digest]struct{}

	// The update in flight, and how the last ones went.
	updates uint64
	flight  *flight
	asked   buckets
	trust   trust
	retry   retry

	// control are small messages that wait to be sent, before anything else. next is the message that the sender is to take, since when it waits.
	control   []any
	next      any
	nextSince time.Time

	inspecting *inspection
	inspected  uint64

	adopting adopting

	// excepted are the slots that the node said last that it could not take.
	excepted []excepted

	// complaints bounds the lines about what the node says, and untold counts those that were left out since the last.
	complaints pace
	untold     int

	lastSent, lastHeard time.Time
}

func newSession(s *Server, stream grpc.BidiStreamingServer[fleetv1.SyncRequest, fleetv1.SyncResponse], address string) *session {
	now := time.Now()
	return &session{
		server: s, stream: stream, address: address, log: s.config.Log,
		in: make(chan *fleetv1.SyncRequest), out: make(chan any), failed: make(chan error, 2),
		inspections: make(chan *inspection), done: make(chan struct{}),
		rejected: map[snapshot.Digest]struct{}{}, lastSent: now, lastHeard: now,
		complaints: pace{every: complaintEvery, burst: (complaintsAtOnce - 1) * complaintEvery},
	}
}

// A node may say messagesAtOnce things at once, and then messagesPerSecond: a few times what the busiest says. One that floods waits, in its own connection, and takes
// no time from the others.
const (
	messagesPerSecond = 1000
	messagesAtOnce    = 2000
)

// receiver carries messages in. When the node has said its last, that is an io.EOF.
func (x *session) receiver() {
	defer x.server.running.Done()
	taken := pace{every: time.Second / messagesPerSecond, burst: messagesAtOnce * time.Second / messagesPerSecond}
	for {
		m, err := x.stream.Recv()
		if err != nil {
			x.failed <- err
			return
		}
		select {
		case x.in <- m:
		case <-x.done:
			return
		}
		if taken.admit(time.Now()) {
			continue
		}
		select {
		case <-time.After(time.Until(taken.due)):
			taken.admit(time.Now())
		case <-x.done:
			return
		}
	}
}

// sender carries messages out. SendMsg may block for as long as the node does not read.
func (x *session) sender() {
	defer x.server.running.Done()
	for {
		select {
		case m := <-x.out:
			if err := x.stream.SendMsg(m); err != nil {
				x.failed <- err
				return
			}
		case <-x.done:
			return
		}
	}
}

// run is the session's life. The error is the status that the stream ends with.
func (x *session) run() error {
	if err := x.greet(); err != nil {
		return err
	}
	x.log.Info().Msg("node connected")
	err := x.serve()
	x.unlearn()
	x.server.leave(x)
	x.record.Close()
	x.log.Info().Str("status", status.Code(err).String()).AnErr("reason", err).Msg("node disconnected")
	return err
}

// serve sends what is due and takes in what comes, until the stream ends.
func (x *session) serve() error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := time.Now()
		if err := x.expired(now); err != nil {
			return err
		}
		if err := x.advance(now); err != nil {
			return err
		}
		x.choose(now)
		var out chan<- any
		if x.next != nil {
			out = x.out
		}
		var inspections <-chan *inspection
		if x.inspecting == nil {
			inspections = x.inspections
		}
		timer.Reset(time.Until(x.deadline()))
		select {
		case out <- x.next:
			x.handed(time.Now())
		case m := <-x.in:
			if err := x.receive(m); err != nil {
				return err
			}
		case i := <-inspections:
			x.inspect(i)
		case <-x.asks():
			x.askPositions(time.Now())
		case <-x.answers():
		case <-x.superseded():
		case <-x.fleets.Superseded():
		case <-timer.C:
		case <-x.record.Replaced():
			return status.Errorf(codes.Aborted, "node %s has another stream by now, from %s or elsewhere; is its name used twice?", x.key.Name, x.address)
		case err := <-x.failed:
			return ended(err)
		case <-x.server.closing:
			return errShutdown
		}
	}
}

// superseded is closed when the fleet has a newer head; nil while there is no fleet.
func (x *session) superseded() <-chan struct{} {
	if x.head == nil {
		return nil
	}
	return x.head.Superseded()
}

// ended is the status of a stream that the node has ended.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// choose makes up its mind about the next message, unless there is one that the sender has not taken yet.
func (x *session) choose(now time.Time) {
	switch {
	case x.next != nil:
		return
	case len(x.control) > 0:
		x.next, x.control = x.control[0], x.control[1:]
	case x.flight.sending():
		x.next = x.flight.shared.Frame(x.flight.frame, x.flight.id)
	case now.Sub(x.lastSent) >= x.server.timing.Heartbeat:
		x.next = x.heartbeat()
	default:
		return
	}
	x.nextSince = now
}

// handed notes that the sender has taken the next message.
func (x *session) handed(now time.Time) {
	if _, frame := x.next.(*wire.Encoded); frame {
		x.flight.handed(now)
	}
	x.next = nil
	x.lastSent = now
}

func (x *session) heartbeat() *fleetv1.SyncResponse {
	h := &fleetv1.Heartbeat{}
	if x.head != nil {
		h.Newest, h.Epoch = x.head.Marks().Proto(), x.head.Epoch
	}
	return &fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Heartbeat{Heartbeat: h}}
}

// deadline is when the session has to look again if nothing happens.
func (x *session) deadline() time.Time {
	t := x.server.timing
	at := x.lastHeard.Add(t.Silence)
	earlier := func(other time.Time) {
		if other.Before(at) {
			at = other
		}
	}
	if x.next != nil {
		earlier(x.nextSince.Add(t.Progress))
	} else {
		earlier(x.lastSent.Add(t.Heartbeat))
	}
	if since, due := x.unanswered(); due {
		earlier(since.Add(t.Progress))
	}
	if x.retry.waiting() {
		earlier(x.retry.at)
	}
	return at
}

// unanswered is since when the session has been waiting for an answer, if it has.
func (x *session) unanswered() (since time.Time, due bool) {
	earliest := func(t time.Time) {
		if !t.IsZero() && (!due || t.Before(since)) {
			since, due = t, true
		}
	}
	if x.flight != nil {
		earliest(x.flight.sent)
	}
	earliest(x.asked.since)
	earliest(x.adopting.since)
	if x.inspecting != nil {
		earliest(x.inspecting.since)
	}
	return since, due
}

// expired ends a stream that is silent or makes no progress.
func (x *session) expired(now time.Time) error {
	t := x.server.timing
	if now.Sub(x.lastHeard) >= t.Silence {
		return status.Errorf(codes.Unavailable, "nothing was heard of node %s for %s", x.key.Name, t.Silence)
	}
	if x.next != nil && now.Sub(x.nextSince) >= t.Progress {
		return status.Errorf(codes.DeadlineExceeded, "node %s has read nothing for %s", x.key.Name, t.Progress)
	}
	if since, due := x.unanswered(); due && now.Sub(since) >= t.Progress {
		return status.Errorf(codes.DeadlineExceeded, "node %s has not answered for %s", x.key.Name, t.Progress)
	}
	return nil
}
