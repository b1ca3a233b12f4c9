package plane_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plane"
	"github.com/berth-proxy/berth/dataplane-agent/internal/report"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// A plane that neither reads nor speaks: the node fills what the connection holds, is held up in sending, and must leave all the same.
func TestPLANE2_ANodeThatIsHeldUpInSendingLeavesASilentPlane(t *testing.T) {
	streams := make(chan struct{}, 16)
	address := serve(t, func(c conversation) error {
		streams <- struct{}{}
		<-c.Context().Done()
		return nil
	})
	box := report.New()
	large := &fleetv1.Applied{}
	for range 4000 {
		large.Excepted = append(large.Excepted, &fleetv1.ExceptedSlot{Message: string(make([]byte, 200))})
	}
	box.Applied(large) // 800 KB; nothing of it is read
	connect(t, newHolder(), box, func(c *plane.Config) { c.Silence = 300 * time.Millisecond }, address)
	within(t, "the first stream", streams)
	within(t, "a second stream, as the first is silent", streams)
}

// slowHolder is a node whose disk hangs while it takes an update in.
type slowHolder struct {
	*holder
	release chan struct{}
}

func (s slowHolder) Deliver(ctx context.Context, u wire.Update) (*fleetv1.Received, error) {
	<-s.release
	return s.holder.Deliver(ctx, u)
}

func TestPLANE2_WhatTheNodeItselfTakesLongForIsNoSilence(t *testing.T) {
	received := make(chan *fleetv1.Received, 1)
	streams := make(chan struct{}, 16)
	address := serve(t, func(c conversation) error {
		streams <- struct{}{}
		if _, err := c.Recv(); err != nil {
			return err
		}
		if err := welcome(c, 1); err != nil {
			return err
		}
		u := wire.Everything(revisionOf(3), nil)
		u.ID = 1
		if err := sendUpdate(c, u, wire.FrameSize); err != nil {
			return err
		}
		for {
			m, err := c.Recv()
			if err != nil {
				return err
			}
			if r := m.GetReceived(); r != nil {
				received <- r
			}
			if err := c.Send(&fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Heartbeat{Heartbeat: &fleetv1.Heartbeat{}}}); err != nil {
				return err
			}
		}
	})
	h := slowHolder{newHolder(), make(chan struct{})}
	time.AfterFunc(time.Second, func() { close(h.release) })
	connect(t, h, report.New(), func(c *plane.Config) { c.Heartbeat, c.Silence = 20*time.Millisecond, 200*time.Millisecond }, address)
	within(t, "received", received)
	if n := len(streams); n != 1 {
		t.Errorf("%d streams, want the one", n)
	}
}

func TestPLANE1_AWaitOfAYearStrandsNobody(t *testing.T) {
	asked := make(chan time.Time, 16)
	address := serve(t, func(c conversation) error {
		if _, err := c.Recv(); err != nil {
			return err
		}
		asked <- time.Now()
		return c.Send(&fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Wait{Wait: &fleetv1.Wait{
			RetryAfter: durationpb.New(365 * 24 * time.Hour), Code: fleetv1.Code_CODE_BUSY,
		}}})
	})
	connect(t, newHolder(), report.New(), func(c *plane.Config) { c.LongestWait = 50 * time.Millisecond }, address)
	first := within(t, "the plane is asked", asked)
	if second := within(t, "the plane is asked again", asked); second.Sub(first) < 50*time.Millisecond {
		t.Errorf("the node came back after %s, and not after the longest wait", second.Sub(first))
	}
}

// A wait that says nothing of a time, or one that is past, is a failed stream like any other.
func TestPLANE1_AWaitWithoutATimeBacksOff(t *testing.T) {
	asked := make(chan struct{}, 1000)
	address := serve(t, func(c conversation) error {
		if _, err := c.Recv(); err != nil {
			return err
		}
		asked <- struct{}{}
		return c.Send(&fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Wait{Wait: &fleetv1.Wait{RetryAfter: durationpb.New(-time.Hour)}}})
	})
	connect(t, newHolder(), report.New(), func(c *plane.Config) { c.MaxBackoff = time.Minute }, address)
	within(t, "the plane is asked", asked)
	<-time.After(500 * time.Millisecond)
	if n := len(asked); n > 40 {
		t.Errorf("the plane was asked %d times in half a second", n)
	}
}

// A host that takes connections and says nothing, as one does whose other direction is cut, holds a node up for as long as a connection may take.
func TestPLANE1_AnAddressThatSaysNothingIsLeftForTheNext(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var held sync.WaitGroup
	held.Go(func() {
		for {
			c, err := mute.Accept()
			if err != nil {
				return
			}
			held.Go(func() {
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = mute.Close()
		held.Wait()
	})
	came := make(chan struct{}, 16)
	good := serve(t, func(c conversation) error {
		came <- struct{}{}
		<-c.Context().Done()
		return status.Error(codes.Canceled, "gone")
	})
	connect(t, newHolder(), report.New(), func(c *plane.Config) { c.Dial = 200 * time.Millisecond }, mute.Addr().String(), good)
	within(t, "a stream to the plane that answers", came)
}

// A plane on a slow line: each of its messages takes longer than a stream may be silent, and none of them is lost.
func TestPLANE2_AMessageThatComesSlowlyIsHeard(t *testing.T) {
	streams := make(chan struct{}, 16)
	received := make(chan *fleetv1.Received, 1)
	address := serve(t, func(c conversation) error {
		streams <- struct{}{}
		if _, err := c.Recv(); err != nil {
			return err
		}
		if err := welcome(c, 1); err != nil {
			return err
		}
		u := wire.Everything(revisionOf(3000), nil)
		u.ID = 1
		if err := sendUpdate(c, u, wire.FrameSize); err != nil {
			return err
		}
		for {
			m, err := c.Recv()
			if err != nil {
				return err
			}
			if r := m.GetReceived(); r != nil {
				received <- r
			}
		}
	})
	slow := slowly(t, address, 40_000)
	connect(t, newHolder(), report.New(), func(c *plane.Config) { c.Silence = 400 * time.Millisecond }, slow)
	if r := within(t, "received", received); r.GetCode() != fleetv1.Code_CODE_OK {
		t.Errorf("received %v", r)
	}
	if n := len(streams); n != 1 {
		t.Errorf("%d streams, want the one", n)
	}
}

// slowly relays connections to an address, so many bytes a second from there.
func slowly(t *testing.T, address string, rate int) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	relay := func(near net.Conn) {
		far, err := net.Dial("tcp", address)
		if err != nil {
			_ = near.Close()
			return
		}
		end := context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })
		defer end()
		running.Go(func() {
			_, _ = io.Copy(far, near)
			_ = far.Close()
		})
		for ctx.Err() == nil {
			if _, err := io.CopyN(near, far, int64(rate/100)); err != nil {
				break
			}
			<-time.After(10 * time.Millisecond)
		}
		_ = near.Close()
	}
	running.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { relay(near) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		running.Wait()
	})
	return l.Addr().String()
}
