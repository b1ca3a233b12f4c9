package simnode

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/api/wire/wiretest"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
	"github.com/berth-proxy/berth/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// conversation is one stream as the scripted plane sees it.
type conversation = wiretest.Conversation

func serve(t *testing.T, script func(conversation) error) string { return wiretest.Serve(t, script) }

// generationOf has n slots taken, at version 1.n.
func generationOf(n int) *snapshot.Generation {
	slots := map[int]snapshot.Slot{}
	for i := range n {
		slots[i] = snapshot.Slot{State: snapshot.Ready, Address: netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), Port: 80, Weight: 1, Endpoint: fmt.Sprint("pod-", i)}
	}
	d := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{"web": {Length: 8, Slots: slots}}}
	return snapshot.EmptyGeneration().Apply(d, snapshot.Version{Epoch: 1, Number: uint64(n)})
}

func send(c conversation, u wire.Update) (*fleetv1.Received, error) {
	frames, err := wire.Frames(u, 0)
	if err != nil {
		return nil, err
	}
	for _, f := range frames {
		if err := c.Send(&fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Update{Update: f}}); err != nil {
			return nil, err
		}
	}
	for {
		m, err := c.Recv()
		if err != nil || m.GetReceived() != nil {
			return m.GetReceived(), err
		}
	}
}

// A plane that sends something older is found out by the node, whether it holds content or marks, and one that asks to wait is obeyed.
func TestSIM2AnOlderStateIsAViolation(t *testing.T) {
	for _, marksOnly := range []bool{false, true} {
		t.Run(fmt.Sprintf("marks only %t", marksOnly), func(t *testing.T) {
			streams := 0
			waited := make(chan time.Duration, 1)
			var refused time.Time
			done := make(chan error, 1)
			address := serve(t, func(c conversation) error {
				if _, err := c.Recv(); err != nil {
					return err
				}
				if streams++; streams == 1 {
					refused = time.Now()
					return c.Send(&fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Wait{Wait: &fleetv1.Wait{RetryAfter: durationpb.New(time.Second)}}})
				}
				if streams == 2 {
					waited <- time.Since(refused)
					if err := c.Send(&fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Welcome{Welcome: &fleetv1.Welcome{Epoch: 1}}}); err != nil {
						return err
					}
					for i, n := range []int{3, 2} {
						u := wire.Everything(nil, generationOf(n))
						u.ID = uint64(i + 1)
						if r, err := send(c, u); err != nil || r.GetCode() != fleetv1.Code_CODE_OK {
							done <- fmt.Errorf("update %d: %v, %w", i+1, r, err)
						}
					}
					close(done)
				}
				<-c.Context().Done()
				return status.Error(codes.Canceled, "over")
			})
			g := Start(t, 1, func(int) Options {
				return Options{Planes: []string{address}, Fleet: "edge", Name: "n", MarksOnly: marksOnly}
			})
			if w := <-waited; w < time.Second {
				t.Errorf("it came back after %s", w)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			harness.WaitFor(t, 10*time.Second, "the violation", func() bool { return len(g.Nodes[0].Violations()) > 0 })
			if v := g.Nodes[0].Violations(); len(v) != 1 || !strings.Contains(v[0], "older") {
				t.Errorf("violations %q", v)
			}
			if c := g.Sum(); c.Updates != 2 || c.Everything != 2 || c.Waits != 1 || c.Streams != 1 || c.Bytes == 0 {
				t.Errorf("counted %+v", c)
			}
		})
	}
}
