package stream

import (
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// pace admits at a bounded rate: streams, so that a plane to which all nodes come back at once serves those that it has meanwhile, and lines of a log. The
// server's mutex guards that of the streams.
type pace struct {
	// every is the time between two, and burst how much of it may be caught up at once.
	every, burst time.Duration
	due          time.Time
	refused      uint64
}

// admit says whether there may be one more now.
func (p *pace) admit(now time.Time) bool {
	if earliest := now.Add(-p.burst); p.due.Before(earliest) {
		p.due = earliest
	}
	if p.due.After(now) {
		return false
	}
	p.due = p.due.Add(p.every)
	return true
}

// hint is after how long a node that is refused is to come back: from half to one and a half of the usual time, evenly spread.
func (p *pace) hint(usual time.Duration) time.Duration {
	p.refused++
	_, part := math.Modf(float64(p.refused%1000) * math.Phi)
	return usual/2 + time.Duration(part*float64(usual))
}

// admit counts a stream in. It may begin if the hint is zero, or else come back after that long.
func (s *Server) admit() (release func(), hint time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, 0, errShutdown
	}
	if s.streams >= s.config.MaxStreams || !s.pace.admit(time.Now()) {
		return nil, s.pace.hint(s.timing.WaitHint), nil
	}
	s.streams++
	s.running.Add(3)
	return func() {
		s.mu.Lock()
		s.streams--
		s.mu.Unlock()
		s.running.Done()
	}, 0, nil
}

// refuse tells a node to come back later.
func refuse(stream grpc.BidiStreamingServer[fleetv1.SyncRequest, fleetv1.SyncResponse], hint time.Duration) error {
	const why = "too many streams at once"
	if err := stream.Send(waitMessage(hint, fleetv1.Code_CODE_BUSY, why)); err != nil {
		return err
	}
	return status.Error(codes.Unavailable, why)
}
