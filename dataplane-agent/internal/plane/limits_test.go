package plane_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plane"
	"github.com/berth-proxy/berth/dataplane-agent/internal/report"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// diary is a log that a test reads.
type diary struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (d *diary) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(b)
}

func (d *diary) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.String()
}

// beyond are frames of an update that break a limit of the protocol, and what the node says of each.
func beyond() map[string]struct {
	frames []*fleetv1.Update
	says   string
} {
	type c = struct {
		frames []*fleetv1.Update
		says   string
	}
	one := func(u *fleetv1.Update, says string) c { return c{[]*fleetv1.Update{u}, says} }
	table := func(length uint32, slots ...*fleetv1.Slot) *fleetv1.Update {
		return &fleetv1.Update{Tables: []*fleetv1.Table{{Backend: "b", Length: length, Version: &fleetv1.Version{Epoch: 1, Number: 1}, Slots: slots}}}
	}
	backend := func(name string, words ...string) *fleetv1.Update {
		return &fleetv1.Update{Backends: []*fleetv1.Backend{{Name: name, Lines: []*fleetv1.Line{{Words: words}}}}}
	}
	long := func(n int) string { return strings.Repeat("x", n) }
	ready := &fleetv1.Slot{Slot: 1, State: fleetv1.SlotState_SLOT_STATE_READY, Address: []byte{10, 0, 0, 1}, Port: 80, Weight: 1, Endpoint: long(snapshot.MaxEndpoint + 1)}
	all := &fleetv1.Update{}
	for i := range wire.MaxTotalSlots/snapshot.MaxSlots + 1 {
		all.Tables = append(all.Tables, &fleetv1.Table{Backend: "b" + long(i), Length: snapshot.MaxSlots})
	}
	return map[string]c{
		"a message":                one(backend(long(wire.MaxMessage)), "larger than max"),
		"slots of a table":         one(table(snapshot.MaxSlots+1), "65537 slots, at most 65536"),
		"slots of all tables":      one(all, "more than 4194304 slots"),
		"a name":                   one(backend(long(snapshot.MaxName+1)), "256 bytes, want 1 to 255"),
		"a word":                   one(backend("b", "balance", long(snapshot.MaxWord+1)), "2049 bytes, at most 2048"),
		"words":                    one(backend("b", strings.Fields(strings.Repeat("w ", snapshot.MaxWords+1))...), "65 words, want 1 to 64"),
		"a line":                   one(backend("b", "balance", "a\nb"), "holds a line break"),
		"an endpoint":              one(table(4, ready), "at most 1024 bytes"),
		"a map":                    one(&fleetv1.Update{Maps: []*fleetv1.Map{{Name: "m", Entries: []*fleetv1.MapEntry{{Key: long(snapshot.MaxMapText + 1), Value: "v"}}}}}, "4097 bytes, want 1 to 4096"),
		"a certificate":            one(&fleetv1.Update{Certificates: []*fleetv1.Certificate{{Name: "c", Pem: make([]byte, snapshot.MaxPEM+1), Digest: bytes.Repeat([]byte{1}, 32)}}}, "1048577 bytes of PEM"),
		"the order of frames":      one(&fleetv1.Update{Frame: 1}, "frame 0 was to come first"),
		"a resource that is twice": one(&fleetv1.Update{Backends: []*fleetv1.Backend{{Name: "b"}, {Name: "b"}}}, "it comes twice"),
	}
}

// What breaks a limit of the protocol ends the stream that it comes on, and the node says what it was. It keeps what it held, and takes what the next stream brings.
func TestPLANE3_WhatBreaksALimitEndsTheStreamAndIsTold(t *testing.T) {
	for name, c := range beyond() {
		t.Run(name, func(t *testing.T) {
			held := make(chan *fleetv1.Hello, 1)
			received := make(chan *fleetv1.Received, 1)
			first := true
			address := serve(t, func(stream conversation) error {
				m, err := stream.Recv()
				if err != nil {
					return err
				}
				if err := welcome(stream, 1); err != nil {
					return err
				}
				good := wire.Everything(revisionOf(2), nil)
				if good.ID = 1; !first {
					held <- m.GetHello()
					good = wire.Everything(revisionOf(3), nil)
					good.ID = 1
				}
				if err := sendUpdate(stream, good, 0); err != nil {
					return err
				}
				for {
					m, err := stream.Recv()
					if err != nil {
						return err
					}
					if m.GetReceived() == nil {
						continue
					}
					if !first {
						received <- m.GetReceived()
						continue
					}
					first = false
					for _, f := range c.frames {
						f.Id = 2
						if stream.Send(&fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Update{Update: f}}) != nil {
							break // the node has left in the middle of it
						}
					}
				}
			})
			log := &diary{}
			h := newHolder()
			run(t, h, log, address)
			if hello := within(t, "a second stream", held); len(hello.GetHeld().GetRevision().GetDigest()) == 0 {
				t.Error("the node has lost what it held")
			}
			if r := within(t, "an update on it", received); r.GetCode() != fleetv1.Code_CODE_OK {
				t.Errorf("received %v", r)
			}
			if !strings.Contains(log.String(), c.says) {
				t.Errorf("the log does not say %q, but %s", c.says, log)
			}
		})
	}
}

// run runs a client with a log of the test's own.
func run(t *testing.T, n plane.Node, log *diary, address string) {
	t.Helper()
	cfg := plane.Config{
		Addresses: []string{address}, Credentials: insecure.NewCredentials(), Fleet: "edge", Name: "n1",
		MinBackoff: time.Millisecond, MaxBackoff: 20 * time.Millisecond,
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- plane.New(cfg, n, report.New(), zerolog.New(log)).Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
