package stream

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/transport/transporttest"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// What a stream costs that has stalled in the middle of an update: at most stalledStream bytes beyond what all share (STREAM-5). Counted is the heap that is left after a collection, and the
// goroutines' stacks, of everything that there is for a connection: gRPC's buffers, those of TLS, the session, and what is known of the node.
const stalledStream = 64 << 10

// stalls are the ways in which a node may not read.
var stalls = map[string]struct {
	window uint32
	secure bool
}{
	// The node says that it takes anything and reads nothing: the plane's writes block.
	"the connection is full": {window: 1<<31 - 1},
	// What a node's gRPC does when the node reads nothing.
	"the window is full":                      {window: 64 << 10},
	"the connection is full, with mutual TLS": {window: 1<<31 - 1, secure: true},
	"the window is full, with mutual TLS":     {window: 64 << 10, secure: true},
}

func TestAStalledStreamCostsLittle(t *testing.T) {
	for name, c := range stalls {
		t.Run(name, func(t *testing.T) {
			server, client := insecure.NewCredentials(), insecure.NewCredentials()
			if c.secure {
				files := transporttest.NewAuthority(t).Files("both")
				var err error
				if server, err = files.Server("127.0.0.1:1"); err == nil {
					client, err = files.Client("192.0.2.1:1")
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			const streams = 300
			address, nodes := serveLarge(t, server)
			// The first makes what all share: the update in the form that travels, and gRPC's pools.
			stall(t, address, client, "first", c.window)
			before := settled(t)
			for i := range streams {
				stall(t, address, client, fmt.Sprintf("stalled-%d", i), c.window)
			}
			waitConnected(t, nodes, streams+1)
			after := settled(t)
			heap, stacks := (after.heap-before.heap)/streams-nodeSide(t, server, client), (after.stacks-before.stacks)/streams
			t.Logf("a stalled stream costs %d bytes on the heap and %d of stacks of %d goroutines", heap, stacks, (after.goroutines-before.goroutines)/streams)
			if raceDetector {
				stacks = min(stacks, 30<<10) // it makes them twice as large as they are
			}
			if heap+stacks > stalledStream {
				t.Errorf("%d bytes, want at most %d", heap+stacks, stalledStream)
			}
		})
	}
}

// serveLarge starts a server with 6 MB to send to each node.
func serveLarge(t *testing.T, creds credentials.TransportCredentials) (string, *node.Registry) {
	t.Helper()
	fleets, log, nodes := changelog.NewDirectory(), changelog.New(changelog.Limits{}), node.New(time.Now)
	log.Publish(largeRevision(6000), snapshot.GenerationDelta{}, time.Now(), time.Now())
	fleets.Set(map[string]changelog.Fleet{"edge": {Name: "edge", Log: log}})
	s := New(Config{Fleets: fleets, Nodes: nodes, Log: zerolog.Nop()})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(append(Options(), grpc.Creds(creds))...)
	fleetv1.RegisterFleetServiceServer(server, s)
	var served sync.WaitGroup
	served.Go(func() {
		if err := server.Serve(Listener(listener)); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		s.Close()
		server.Stop()
		served.Wait()
	})
	return listener.Addr().String(), nodes
}

func waitConnected(t *testing.T, nodes *node.Registry, want int) {
	t.Helper()
	deadline := time.After(patience)
	for {
		changed := nodes.Changed()
		connected := 0
		for _, v := range nodes.List("edge") {
			if v.Connected {
				connected++
			}
		}
		if connected >= want {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%d nodes are connected, want %d", connected, want)
		}
	}
}

// footprint is what the process has.
type footprint struct{ heap, stacks, goroutines int }

// settled is the footprint once it has stopped growing.
func settled(t *testing.T) footprint {
	t.Helper()
	measure := func() footprint {
		runtime.GC()
		runtime.GC() // pools let go of what they had one collection later
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return footprint{int(m.HeapAlloc), int(m.StackInuse), runtime.NumGoroutine()}
	}
	last := measure()
	for range 40 {
		<-time.After(100 * time.Millisecond)
		now := measure()
		if grown := now.heap + now.stacks - last.heap - last.stacks; grown < 32<<10 {
			return now
		}
		last = now
	}
	t.Fatal("the footprint goes on growing")
	return last
}

// nodeSide is what the side of the test takes of a connection, for it is in the same process: TLS has buffers there, too.
func nodeSide(t *testing.T, server, client credentials.TransportCredentials) int {
	t.Helper()
	const conns = 50
	kept := make([]net.Conn, conns)
	before := settled(t)
	for i := range kept {
		near, far := net.Pipe()
		var greeting sync.WaitGroup
		greeting.Go(func() {
			if _, _, err := server.ServerHandshake(far); err != nil {
				t.Error(err)
			}
		})
		var err error
		if kept[i], _, err = client.ClientHandshake(t.Context(), "127.0.0.1", near); err != nil {
			t.Fatal(err)
		}
		greeting.Wait()
	}
	after := settled(t)
	runtime.KeepAlive(kept)
	return (after.heap - before.heap) / conns
}

// stall opens a connection with a stream on it, greets, and reads nothing from then on. It is written by hand, frame by frame, so that the node's side takes next to no memory of
// this process.
func stall(t *testing.T, address string, creds credentials.TransportCredentials, name string, window uint32) {
	t.Helper()
	raw, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	conn, _, err := creds.ClientHandshake(context.Background(), "127.0.0.1", raw)
	if err != nil {
		t.Fatal(err)
	}
	hello := &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Hello{Hello: &fleetv1.Hello{Fleet: "edge", Node: name}}}
	body, err := proto.Marshal(hello)
	if err != nil {
		t.Fatal(err)
	}
	const (
		data, headers, settings, windowUpdate = 0, 1, 4, 8
		initialWindowSize                     = 4
		endHeaders                            = 4
	)
	b := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	b = http2Frame(b, settings, 0, 0, binary.BigEndian.AppendUint32([]byte{0, initialWindowSize}, window))
	if window > 65535 {
		b = http2Frame(b, windowUpdate, 0, 0, binary.BigEndian.AppendUint32(nil, window-65535))
	}
	var fields []byte
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", fleetv1.FleetService_Sync_FullMethodName}, {":authority", "plane"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		fields = append(fields, 0, byte(len(f[0])))
		fields = append(fields, f[0]...)
		fields = append(fields, byte(len(f[1])))
		fields = append(fields, f[1]...)
	}
	b = http2Frame(b, headers, endHeaders, 1, fields)
	b = http2Frame(b, data, 0, 1, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...))
	if _, err := conn.Write(b); err != nil {
		t.Fatal(err)
	}
}

func http2Frame(b []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	b = append(b, byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload)), kind, flags)
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}
