package stream

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// The times of the protocol itself, on a clock that stands still while the test thinks: no network, and a stream that takes a message when the test
// reads one (STREAM-5).

// pipe is a stream in memory.
type pipe struct {
	grpc.ServerStream
	ctx context.Context
	in  chan *fleetv1.SyncRequest
	out chan any
}

func (p *pipe) Context() context.Context { return p.ctx }

func (p *pipe) Recv() (*fleetv1.SyncRequest, error) {
	select {
	case m := <-p.in:
		return m, nil
	case <-p.ctx.Done():
		return nil, status.FromContextError(p.ctx.Err()).Err()
	}
}

func (p *pipe) SendMsg(m any) error {
	select {
	case p.out <- m:
		return nil
	case <-p.ctx.Done():
		return status.FromContextError(p.ctx.Err()).Err()
	}
}

func (p *pipe) Send(m *fleetv1.SyncResponse) error { return p.SendMsg(m) }

// inMemory runs a stream of the node a with the default timing, and play at its other end. The stream has ended with the status that is returned.
func inMemory(t *testing.T, publish func(*changelog.Log), play func(*pipe), change ...func(*fleetv1.Hello)) (ended error) {
	t.Helper()
	hello := &fleetv1.Hello{Fleet: "edge", Node: "a"}
	for _, c := range change {
		c(hello)
	}
	synctest.Test(t, func(t *testing.T) {
		fleets := changelog.NewDirectory()
		log := changelog.New(changelog.Limits{})
		publish(log)
		fleets.Set(map[string]changelog.Fleet{"edge": {Name: "edge", Log: log}})
		server := New(Config{Fleets: fleets, Nodes: node.New(time.Now), Log: zerolog.Nop()})
		ctx, cancel := context.WithCancel(context.Background())
		p := &pipe{ctx: ctx, in: make(chan *fleetv1.SyncRequest), out: make(chan any)}
		done := make(chan error)
		go func() { done <- server.Sync(p) }()
		p.in <- &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Hello{Hello: hello}}
		play(p)
		ended = <-done
		cancel() // as gRPC does when a handler has returned
		server.Close()
	})
	return ended
}

// read takes the next message, however long it takes.
func (p *pipe) read(t *testing.T) *fleetv1.SyncResponse {
	t.Helper()
	bytes, err := wire.Codec().Marshal(<-p.out)
	m := &fleetv1.SyncResponse{}
	if err = errors.Join(err, proto.Unmarshal(bytes.Materialize(), m)); err != nil {
		t.Fatal(err)
	}
	return m
}

func (p *pipe) beat() {
	p.in <- &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Heartbeat{Heartbeat: &fleetv1.Heartbeat{}}}
}

func large(log *changelog.Log) {
	log.Publish(largeRevision(6000), snapshot.GenerationDelta{}, time.Now(), time.Now())
}

func small(log *changelog.Log) {
	log.Publish(revision("web", "roundrobin"), generation("web", 0, 1), time.Now(), time.Now())
}

// A frame every fifty seconds, for twenty minutes: slow, and never without progress.
func TestASlowNodeKeepsItsStream(t *testing.T) {
	began := time.Time{}
	err := inMemory(t, large, func(p *pipe) {
		began = time.Now()
		var frames wire.Assembler
		for {
			for range 5 {
				<-time.After(10 * time.Second)
				p.beat()
			}
			m := p.read(t)
			if m.GetUpdate() == nil {
				continue
			}
			u, complete, err := frames.Add(m.GetUpdate())
			if err != nil {
				t.Fatal(err)
			}
			if !complete {
				continue
			}
			r := &fleetv1.Received{Id: u.ID, Code: fleetv1.Code_CODE_OK, Held: u.To.Proto()}
			p.in <- &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Received{Received: r}}
			break
		}
		if took := time.Since(began); took < 10*time.Minute {
			t.Errorf("it took %s only", took)
		}
		if m := p.read(t); m.GetHeartbeat() == nil {
			t.Errorf("after the update: %v", m)
		}
	})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("a node that falls silent at last ends with %v", err)
	}
}

func TestANodeThatReadsNothingLosesItsStreamAfterAMinute(t *testing.T) {
	var took time.Duration
	err := inMemory(t, large, func(p *pipe) {
		began := time.Now()
		p.read(t) // the Welcome
		for range 59 {
			<-time.After(time.Second)
			p.beat()
		}
		<-time.After(1500 * time.Millisecond)
		took = time.Since(began)
	})
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("after %s it ended with %v", took, err)
	}
}

func TestASilentNodeLosesItsStreamAfterTwentySeconds(t *testing.T) {
	err := inMemory(t, small, func(p *pipe) {
		began := time.Now()
		p.read(t)
		u := p.read(t).GetUpdate()
		r := &fleetv1.Received{Id: u.GetId(), Code: fleetv1.Code_CODE_OK, Held: u.GetTo()}
		p.in <- &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Received{Received: r}}
		for i := range 3 {
			if m := p.read(t); m.GetHeartbeat() == nil || time.Since(began) != time.Duration(i+1)*5*time.Second {
				t.Errorf("after %s: %v, want a heartbeat every 5 s", time.Since(began), m)
			}
		}
	})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("it ended with %v", err)
	}
}

func TestANodeThatBeatsKeepsItsStreamForADay(t *testing.T) {
	err := inMemory(t, small, func(p *pipe) {
		began := time.Now()
		p.read(t)
		u := p.read(t).GetUpdate()
		r := &fleetv1.Received{Id: u.GetId(), Code: fleetv1.Code_CODE_OK, Held: u.GetTo()}
		p.in <- &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Received{Received: r}}
		for time.Since(began) < 24*time.Hour {
			if m := p.read(t); m.GetHeartbeat() == nil {
				t.Fatalf("after %s: %v", time.Since(began), m)
			}
			p.beat()
		}
		<-time.After(19 * time.Second)
	})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("it ended with %v", err)
	}
}

func TestANodeThatNeverAnswersLosesItsStreamAfterAMinute(t *testing.T) {
	for name, c := range map[string]struct {
		hello func(*fleetv1.Hello)
		is    func(*fleetv1.SyncResponse) bool
	}{
		"an update":   {func(*fleetv1.Hello) {}, func(m *fleetv1.SyncResponse) bool { return m.GetUpdate().GetLast() }},
		"its buckets": {func(h *fleetv1.Hello) { h.Held = foreignState().marks().Proto() }, func(m *fleetv1.SyncResponse) bool { return m.GetAskBuckets() != nil }},
	} {
		t.Run(name, func(t *testing.T) {
			var took time.Duration
			err := inMemory(t, small, func(p *pipe) {
				p.read(t)
				if m := p.read(t); !c.is(m) {
					t.Fatalf("no question, but %v", m)
				}
				began := time.Now()
				for {
					select {
					case <-p.out: // heartbeats
					case <-time.After(time.Second):
						p.beat()
						if took = time.Since(began); took == 59*time.Second {
							return
						}
					}
				}
			}, c.hello)
			if status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("it ended with %v after %s", err, took)
			}
		})
	}
}
