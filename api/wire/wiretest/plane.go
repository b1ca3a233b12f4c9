// Package wiretest is a control plane that does what a test says, over real gRPC on loopback: for the tests of whoever speaks the node's side of the protocol.
package wiretest

import (
	"net"
	"testing"

	"google.golang.org/grpc"

	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Conversation is one stream as the scripted plane sees it.
type Conversation = grpc.BidiStreamingServer[fleetv1.SyncRequest, fleetv1.SyncResponse]

type scripted struct {
	fleetv1.UnimplementedFleetServiceServer
	script func(Conversation) error
}

func (s *scripted) Sync(c Conversation) error { return s.script(c) }

// Serve starts a plane whose streams each follow the script, and returns its address. It has ended when the test has.
func Serve(t testing.TB, script func(Conversation) error) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	fleetv1.RegisterFleetServiceServer(server, &scripted{script: script})
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}
