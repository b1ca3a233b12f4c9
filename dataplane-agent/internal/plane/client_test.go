package plane_test

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/node"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plane"
	"github.com/berth-proxy/berth/dataplane-agent/internal/report"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// revisionOf is a revision with n backends, at version 1.n.
func revisionOf(n int) *snapshot.Revision {
	d := snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{}}
	for i := range n {
		b := &snapshot.Backend{Name: fmt.Sprint("backend-", i)}
		d.Changes[b.Key()] = b
	}
	return snapshot.EmptyRevision().Apply(d, snapshot.Version{Epoch: 1, Number: uint64(n)})
}

func TestPLANE3_UpdatesAreTakenWholeInOrderAndAnswered(t *testing.T) {
	answers := make(chan *fleetv1.Received, 2)
	hello := make(chan *fleetv1.Hello, 1)
	address := serve(t, func(c conversation) error {
		m, err := c.Recv()
		if err != nil {
			return err
		}
		hello <- m.GetHello()
		if err := welcome(c, 7); err != nil {
			return err
		}
		big := wire.Everything(revisionOf(200), nil)
		big.ID = 1
		small := wire.Update{
			ID: 2, Scope: fleetv1.Scope_SCOPE_CHANGES, From: wire.MarksOf(revisionOf(200), nil), To: wire.MarksOf(revisionOf(201), nil),
			Revision: snapshot.DiffRevisions(revisionOf(200), revisionOf(201)),
		}
		for _, u := range []wire.Update{big, small} {
			if err := sendUpdate(c, u, 512); err != nil {
				return err
			}
			for {
				m, err := c.Recv()
				if err != nil {
					return err
				}
				if r := m.GetReceived(); r != nil {
					answers <- r
					break
				}
			}
		}
		<-c.Context().Done()
		return nil
	})
	h := newHolder()
	connect(t, h, report.New(), nil, address)
	if got := within(t, "hello", hello); got.GetFleet() != "edge" || got.GetNode() != "n1" || got.GetBootId() != "boot" {
		t.Errorf("hello %v", got)
	}
	for id := uint64(1); id <= 2; id++ {
		if r := within(t, "received", answers); r.GetId() != id || r.GetCode() != fleetv1.Code_CODE_OK {
			t.Errorf("answer %v, want OK to update %d", r, id)
		}
	}
	if got := h.Hello(); got.Held.Revision.Digest != revisionOf(201).Digest() || got.Epoch != 7 {
		t.Errorf("the node holds %v in epoch %d", got.Held, got.Epoch)
	}
}

func TestAnUpdateThatIsBrokenOffLeavesWhatTheNodeHad(t *testing.T) {
	again := make(chan *fleetv1.Hello, 8)
	address := serve(t, func(c conversation) error {
		m, err := c.Recv()
		if err != nil {
			return err
		}
		again <- m.GetHello()
		if err := welcome(c, 1); err != nil {
			return err
		}
		frames, err := wire.Frames(wire.Everything(revisionOf(200), nil), 512)
		if err != nil {
			return err
		}
		for _, f := range frames[:len(frames)-1] {
			if err := c.Send(&fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Update{Update: f}}); err != nil {
				return err
			}
		}
		return status.Error(codes.Unavailable, "cut")
	})
	h := newHolder()
	connect(t, h, report.New(), nil, address)
	within(t, "the first stream", again)
	if hello := within(t, "the second stream", again); len(hello.GetHeld().GetRevision().GetDigest()) != 0 {
		t.Errorf("after half an update the node says that it holds %v", hello.GetHeld())
	}
}

func TestPLANE1_AddressesAreTriedInTurnAndAWaitIsKept(t *testing.T) {
	asked := make(chan time.Time, 16)
	busy := serve(t, func(c conversation) error {
		if _, err := c.Recv(); err != nil {
			return err
		}
		asked <- time.Now()
		return c.Send(&fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Wait{Wait: &fleetv1.Wait{
			RetryAfter: durationpb.New(300 * time.Millisecond), Code: fleetv1.Code_CODE_BUSY, Message: "too many",
		}}})
	})
	came := make(chan time.Time, 16)
	good := serve(t, func(c conversation) error {
		if _, err := c.Recv(); err != nil {
			return err
		}
		came <- time.Now()
		<-c.Context().Done()
		return nil
	})
	connect(t, newHolder(), report.New(), nil, "127.0.0.1:1", busy, good)
	first := within(t, "the busy plane is asked", asked)
	if second := within(t, "the next plane is asked", came); second.Sub(first) < 300*time.Millisecond {
		t.Errorf("the node came back after %s though it was asked to wait 300 ms", second.Sub(first))
	}
}

// Two nodes that have one name end each other's streams as soon as they are welcomed, and so does an update that cannot be taken.
func TestPLANE1_AStreamThatEndsAfterItsWelcomeHasNotWorked(t *testing.T) {
	streams := make(chan struct{}, 1000)
	address := serve(t, func(c conversation) error {
		streams <- struct{}{}
		if _, err := c.Recv(); err != nil {
			return err
		}
		if err := welcome(c, 1); err != nil {
			return err
		}
		return status.Error(codes.Aborted, "node n1 has another stream by now")
	})
	connect(t, newHolder(), report.New(), func(c *plane.Config) { c.MaxBackoff = time.Minute }, address)
	within(t, "the first stream", streams)
	<-time.After(500 * time.Millisecond)
	// Pauses of up to 1, 2, 4 … ms leave room for some ten streams, pauses that start again each time for some hundred.
	if n := len(streams); n == 0 || n > 40 {
		t.Errorf("%d streams in half a second", n)
	}
}

func TestPLANE2_ASilentStreamIsEndedAndHeartbeatsAreSent(t *testing.T) {
	streams := make(chan struct{}, 16)
	beats := make(chan *fleetv1.Heartbeat, 64)
	address := serve(t, func(c conversation) error {
		streams <- struct{}{}
		for { // says nothing, not even welcome
			m, err := c.Recv()
			if err != nil {
				return err
			}
			if b := m.GetHeartbeat(); b != nil {
				select {
				case beats <- b:
				default:
				}
			}
		}
	})
	connect(t, newHolder(), report.New(), func(c *plane.Config) { c.Heartbeat, c.Silence = 10*time.Millisecond, 100*time.Millisecond }, address)
	within(t, "the first stream", streams)
	within(t, "a heartbeat", beats)
	within(t, "a second stream, as the first is silent", streams)
}

func TestPLANE4_NewsIsWhatIsTrueNowAndToldAgainOnANewStream(t *testing.T) {
	told := make(chan *fleetv1.Applied, 16)
	address := serve(t, func(c conversation) error {
		if _, err := c.Recv(); err != nil {
			return err
		}
		if err := welcome(c, 1); err != nil {
			return err
		}
		for {
			m, err := c.Recv()
			if err != nil {
				return err
			}
			if a := m.GetApplied(); a != nil {
				told <- a
				return status.Error(codes.Unavailable, "cut")
			}
		}
	})
	box := report.New()
	box.Applied(&fleetv1.Applied{By: fleetv1.By_BY_RELOAD})
	connect(t, newHolder(), box, nil, address)
	for range 2 {
		if a := within(t, "applied", told); a.GetBy() != fleetv1.By_BY_RELOAD {
			t.Errorf("told %v", a)
		}
	}
}

func TestResumeAndInspect(t *testing.T) {
	buckets := make(chan *fleetv1.Buckets, 1)
	answers := make(chan *fleetv1.Inspected, 1)
	address := serve(t, func(c conversation) error {
		if _, err := c.Recv(); err != nil {
			return err
		}
		ask := &fleetv1.AskBuckets{Revision: true}
		if err := c.Send(&fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_AskBuckets{AskBuckets: ask}}); err != nil {
			return err
		}
		if err := c.Send(&fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Inspect{Inspect: &fleetv1.Inspect{Id: 5}}}); err != nil {
			return err
		}
		for {
			m, err := c.Recv()
			if err != nil {
				return err
			}
			if b := m.GetBuckets(); b != nil {
				buckets <- b
			}
			if i := m.GetInspected(); i != nil {
				answers <- i
			}
		}
	})
	h := newHolder()
	h.rev = revisionOf(3)
	connect(t, h, report.New(), nil, address)
	b := within(t, "buckets", buckets)
	u, err := wire.Replace(b, revisionOf(3), nil)
	if err != nil || len(u.RevisionBuckets) != 0 || len(b.GetGeneration()) != 0 {
		t.Errorf("buckets of an equal revision differ: %v, %v", u.RevisionBuckets, err)
	}
	if i := within(t, "inspected", answers); i.GetId() != 5 || !i.GetLast() || len(i.GetBackends()) != 1 {
		t.Errorf("inspected %v", i)
	}
}

func TestPositionsAreToldOfWhatIsHeld(t *testing.T) {
	answers := make(chan *fleetv1.Positions, 64)
	address := serve(t, func(c conversation) error {
		if _, err := c.Recv(); err != nil {
			return err
		}
		if err := welcome(c, 1); err != nil {
			return err
		}
		if err := c.Send(&fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_AskPositions{AskPositions: &fleetv1.AskPositions{}}}); err != nil {
			return err
		}
		for {
			m, err := c.Recv()
			if err != nil {
				return err
			}
			if p := m.GetPositions(); p != nil {
				answers <- p
			}
		}
	})
	pod := snapshot.Slot{State: snapshot.Ready, Address: netip.MustParseAddr("10.0.0.1"), Port: 80, Weight: 100, Endpoint: "shop/" + strings.Repeat("p", 900)}
	tables := map[string]snapshot.TableDelta{}
	for i := range 400 {
		slots := map[int]snapshot.Slot{1: pod, 2: {Since: 6}}
		tables[fmt.Sprint("web-", i)] = snapshot.TableDelta{Reset: true, Length: 4, Slots: slots, Version: snapshot.Version{Epoch: 1, Number: 6}}
	}
	h := newHolder()
	h.gen = snapshot.EmptyGeneration().Apply(snapshot.GenerationDelta{Tables: tables}, snapshot.Version{Epoch: 1, Number: 7})
	connect(t, h, report.New(), nil, address)
	var a wire.PositionAssembler
	for {
		got, complete, err := a.Add(within(t, "positions", answers))
		if err != nil {
			t.Fatal(err)
		}
		if !complete {
			continue
		}
		told := got.Tables["web-7"]
		if got.Generation.Version.Number != 7 || len(got.Tables) != 400 || told.Length != 4 || len(told.Slots) != 2 ||
			told.Slots[0].Index != 1 || told.Slots[0].Endpoint != pod.Endpoint || told.Slots[1].Since != 6 {
			t.Errorf("told %d tables of %v, one is %+v", len(got.Tables), got.Generation, told)
		}
		return
	}
}

// PLANE-6: a node that has lost a part of what it has told greets anew, so that the plane sends it again.
func TestPLANE6_ANodeThatHasLostSomethingGreetsAnew(t *testing.T) {
	h, box := newHolder(), report.New()
	hellos := make(chan *fleetv1.Hello)
	address := serve(t, func(c conversation) error {
		m, err := c.Recv()
		if err != nil {
			return err
		}
		if err := c.Send(&fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Welcome{Welcome: &fleetv1.Welcome{Epoch: 1}}}); err != nil {
			return err
		}
		select {
		case hellos <- m.GetHello():
		case <-c.Context().Done():
		}
		for err == nil {
			_, err = c.Recv()
		}
		return nil
	})
	connect(t, h, box, nil, address)
	<-hellos
	h.mu.Lock()
	h.rev = h.rev.Apply(snapshot.RevisionDelta{}, snapshot.Version{Epoch: 1, Number: 7})
	h.mu.Unlock()
	box.Greet()
	select {
	case m := <-hellos:
		if m.GetHeld().GetRevision().GetVersion().GetNumber() != 7 {
			t.Errorf("greeted with %v", m.GetHeld())
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the plane is not greeted again")
	}
}

// losing is a node that loses something just after it was asked for its first Hello.
type losing struct {
	*holder
	box  *report.Box
	once sync.Once
}

func (l *losing) Hello() node.Hello {
	h := l.holder.Hello()
	l.once.Do(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.rev = l.rev.Apply(snapshot.RevisionDelta{}, snapshot.Version{Epoch: 1, Number: 7})
		l.box.Greet()
	})
	return h
}

func TestPLANE6_ALossWhileTheNodeGreetsIsNotForgotten(t *testing.T) {
	box := report.New()
	hellos := make(chan *fleetv1.Hello, 16)
	address := serve(t, func(c conversation) error {
		m, err := c.Recv()
		if err != nil {
			return err
		}
		hellos <- m.GetHello()
		if err := welcome(c, 1); err != nil {
			return err
		}
		<-c.Context().Done()
		return nil
	})
	connect(t, &losing{holder: newHolder(), box: box}, box, nil, address)
	// The stream with the first may end before the plane has read it.
	for within(t, "the Hello after the loss", hellos).GetHeld().GetRevision().GetVersion().GetNumber() != 7 {
		continue
	}
}
