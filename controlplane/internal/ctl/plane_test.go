package ctl

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

// scripted answers the admin API with what a plane of two fleets might say, over real gRPC. Its lists have pages of one entry, whatever is asked for.
type scripted struct {
	adminv1.UnimplementedAdminServiceServer
	// healthy has no faulty source, no fleet that waits and no object that is rejected.
	healthy bool
	// fleets are the names; default and edge if there are none.
	fleets []string
	// watched is closed when a Watch has sent its events; it then lasts until the caller goes.
	watched chan struct{}
}

// serve starts the server on a loopback address.
func (s *scripted) serve(t *testing.T, secure credentials.TransportCredentials) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	server := grpc.NewServer(grpc.Creds(secure))
	adminv1.RegisterAdminServiceServer(server, s)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return listener.Addr().String()
}

func plain() credentials.TransportCredentials { return insecure.NewCredentials() }

func mark(number uint64) *adminv1.Mark {
	return &adminv1.Mark{Epoch: 1, Number: number, Digest: strings.Repeat(fmt.Sprintf("%02x", number), 32), Time: at(int(number))}
}

func at(second int) *timestamppb.Timestamp {
	return timestamppb.New(time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC))
}

// page1 gives the entry that the token stands for, and the token of the next.
func page1[E any](list []E, token string) (entries []E, next string) {
	i, _ := strconv.Atoi(token)
	if i >= len(list) {
		return nil, ""
	}
	if i+1 < len(list) {
		next = strconv.Itoa(i + 1)
	}
	return list[i : i+1], next
}

func (s *scripted) names() []string {
	if s.fleets != nil {
		return s.fleets
	}
	return []string{"default", "edge"}
}

func (s *scripted) known(fleet string) error {
	for _, name := range s.names() {
		if name == fleet {
			return nil
		}
	}
	return status.Errorf(codes.NotFound, "there is no fleet %q", fleet)
}

func (s *scripted) ListFleets(_ context.Context, req *adminv1.ListFleetsRequest) (*adminv1.ListFleetsResponse, error) {
	var list []*adminv1.Fleet
	for _, name := range s.names() {
		f := &adminv1.Fleet{
			Name: name, Revision: mark(3), Generation: mark(12), Nodes: 3, NodesConnected: 2, RevisionApplied: 1, GenerationApplied: 2,
			NodesRejected: 1, Backends: 2, Slots: 16, SlotsReady: 9, SlotsDraining: 1, SlotsFree: 6, ObjectsRejected: 1, ObjectsWarned: 1,
		}
		if name == "edge" {
			f = &adminv1.Fleet{Name: name, Waiting: "source east has not been read in full since the control plane started"}
		}
		if s.healthy {
			f.ObjectsRejected, f.ObjectsWarned, f.Waiting = 0, 0, ""
		}
		list = append(list, f)
	}
	fleets, next := page1(list, req.GetPageToken())
	return &adminv1.ListFleetsResponse{Fleets: fleets, NextPageToken: next}, nil
}

func (s *scripted) ListNodes(_ context.Context, req *adminv1.ListNodesRequest) (*adminv1.ListNodesResponse, error) {
	list := []*adminv1.Node{
		{
			Name: "node-1", Fleet: "default", State: adminv1.NodeState_NODE_STATE_CURRENT, HaproxyVersion: "3.4.7", AgentVersion: "v1",
			Capabilities: []string{"CAPABILITY_ADD_SERVER"}, Revision: mark(3), Generation: mark(12), WorkerPid: 4711, OldWorkers: 1, Reloads: 2,
			ConnectedSince: at(1), LastHeard: at(59), Address: "127.0.0.1:40000", LastLatency: durationpb.New(1234567 * time.Nanosecond),
			Excepted:      []*adminv1.ExceptedSlot{{Backend: "shop_web_http", Slot: 3, Code: "OWN_LISTENER", Message: "127.0.0.1:8080 is a listener of this HAProxy"}},
			ExceptedTotal: 12,
		},
		{
			Name: "node-2", Fleet: "default", State: adminv1.NodeState_NODE_STATE_REJECTED, HaproxyVersion: "2.6.12", Revision: mark(2), Generation: mark(11),
			Lag: 1, Dirty: true, Reloads: 1, Code: "CONFIG_REFUSED", Message: "[ALERT] config : parsing [haproxy.cfg:9]\n\x1b[31mno such option",
		},
		{Name: "node-3", Fleet: "edge", State: adminv1.NodeState_NODE_STATE_WAITING, Code: "FROZEN"},
	}
	var some []*adminv1.Node
	for _, n := range list {
		if req.GetFleet() == "" || n.GetFleet() == req.GetFleet() {
			some = append(some, n)
		}
	}
	nodes, next := page1(some, req.GetPageToken())
	return &adminv1.ListNodesResponse{Nodes: nodes, NextPageToken: next}, nil
}

func webBackend() *adminv1.Backend {
	return &adminv1.Backend{Name: "shop_web_http", Service: "shop/web:http", Cluster: "objects", Slots: 4, Ready: 1, Draining: 1, Free: 2, Changed: mark(12)}
}

func (s *scripted) ListBackends(_ context.Context, req *adminv1.ListBackendsRequest) (*adminv1.ListBackendsResponse, error) {
	if err := s.known(req.GetFleet()); err != nil {
		return nil, err
	}
	list := []*adminv1.Backend{webBackend(), {Name: "shop_api_80", Service: "shop/api:80", Cluster: "objects", Slots: 4, Ready: 4, Changed: mark(7)}}
	backends, next := page1(list, req.GetPageToken())
	return &adminv1.ListBackendsResponse{Backends: backends, NextPageToken: next}, nil
}

func webSlots() []*adminv1.Slot {
	return []*adminv1.Slot{
		{Slot: 1, State: adminv1.SlotState_SLOT_STATE_READY, Address: "10.0.0.1", Port: 8080, Weight: 100, Endpoint: "shop/web-1"},
		{Slot: 2, State: adminv1.SlotState_SLOT_STATE_DRAIN, Address: "fd00::2", Port: 8080, Weight: 100, Endpoint: "shop/web-2", Since: 12},
		{Slot: 3, State: adminv1.SlotState_SLOT_STATE_FREE, Since: 4},
		{Slot: 4, State: adminv1.SlotState_SLOT_STATE_FREE},
	}
}

func (s *scripted) GetBackend(_ context.Context, req *adminv1.GetBackendRequest) (*adminv1.GetBackendResponse, error) {
	if err := s.known(req.GetFleet()); err != nil {
		return nil, err
	}
	if req.GetBackend() != "shop_web_http" && req.GetBackend() != "shop/web:http" {
		return nil, status.Errorf(codes.NotFound, "fleet %s has no backend %q", req.GetFleet(), req.GetBackend())
	}
	return &adminv1.GetBackendResponse{Backend: webBackend(), Slots: webSlots(), Lines: []string{"balance roundrobin"}}, nil
}

func (s *scripted) ListObjects(_ context.Context, req *adminv1.ListObjectsRequest) (*adminv1.ListObjectsResponse, error) {
	if err := s.known(req.GetFleet()); err != nil {
		return nil, err
	}
	list := []*adminv1.Object{
		{Object: "Ingress shop/pay", State: adminv1.ObjectState_OBJECT_STATE_REJECTED, Reason: "Secret shop/pay holds no certificate", Cluster: "objects"},
		{Object: "Ingress shop/slow", State: adminv1.ObjectState_OBJECT_STATE_WARNED, Reason: `"10 x" is no duration; the fleet's is used`, Cluster: "objects"},
	}
	objects, next := page1(list, req.GetPageToken())
	return &adminv1.ListObjectsResponse{Objects: objects, NextPageToken: next}, nil
}

func (s *scripted) ListSources(context.Context, *adminv1.ListSourcesRequest) (*adminv1.ListSourcesResponse, error) {
	list := []*adminv1.Source{{Name: "objects", Location: "dir:/srv/objects", Synced: true, Objects: 42}}
	if !s.healthy {
		list = append(list, &adminv1.Source{Name: "east", Location: "dir:/srv/east", StaleSince: at(7), Error: "web.yaml: line 3: it does not parse", Objects: 5})
		list = append(list, forgetful(), &adminv1.Source{Name: "south", Location: "dir:/srv/south", Synced: true, Objects: 30, Held: &adminv1.HeldRemoval{
			Objects: 24, Backends: 12, Names: []string{"EndpointSlice shop/a", "Service shop/a\x1b[2J"}, Since: at(8), Until: at(18),
		}})
	}
	return &adminv1.ListSourcesResponse{Sources: list}, nil
}

func forgetful() *adminv1.Source {
	return &adminv1.Source{
		Name: "west", Location: "dir:/srv/west", Synced: true, ForgottenSince: at(9), Forgotten: "directory /srv/west is not there",
	}
}

func (s *scripted) ForgetSource(_ context.Context, req *adminv1.ForgetSourceRequest) (*adminv1.ForgetSourceResponse, error) {
	switch req.GetSource() {
	case "west":
		return &adminv1.ForgetSourceResponse{Source: forgetful(), ObjectsRemoved: 7}, nil
	case "objects":
		return nil, status.Error(codes.FailedPrecondition, "source objects: all of it can be read or is forgotten already, so there is nothing to forget")
	}
	return nil, status.Errorf(codes.NotFound, "there is no source %q; there are objects, east, west", req.GetSource())
}

func (s *scripted) ReleaseGuard(_ context.Context, req *adminv1.ReleaseGuardRequest) (*adminv1.ReleaseGuardResponse, error) {
	switch req.GetSource() {
	case "south":
		return &adminv1.ReleaseGuardResponse{ObjectsRemoved: 24}, nil
	case "west":
		return &adminv1.ReleaseGuardResponse{ObjectsRemoved: 1}, nil
	}
	return nil, status.Errorf(codes.FailedPrecondition, "source %s: nothing is held back", req.GetSource())
}

func (s *scripted) Explain(_ context.Context, req *adminv1.ExplainRequest) (*adminv1.ExplainResponse, error) {
	if !strings.HasPrefix(req.GetUrl(), "http") {
		return nil, status.Errorf(codes.InvalidArgument, "explain %q: it must start with http:// or https://", req.GetUrl())
	}
	if strings.HasPrefix(req.GetUrl(), "http://secure") {
		return &adminv1.ExplainResponse{
			Url: req.GetUrl(), Outcome: adminv1.Outcome_OUTCOME_REDIRECT, Status: 308, Location: "https://secure.example.com/", Host: "secure.example.com",
			Steps: []string{"it stands under a tls entry"}, Objects: []string{"Ingress shop/secure"},
		}, nil
	}
	return &adminv1.ExplainResponse{
		Url: req.GetUrl(), Outcome: adminv1.Outcome_OUTCOME_BACKEND, Path: "/cart", Match: "Prefix", Backend: "shop_web_http", Service: "shop/web:http",
		Slots: webSlots()[:2], Steps: []string{"nobody names the host", "prefix /cart is the longest"}, Objects: []string{"Ingress shop/web", "Service shop/web"},
		Certificate: "default",
	}, nil
}

func (s *scripted) Render(req *adminv1.RenderRequest, stream grpc.ServerStreamingServer[adminv1.RenderResponse]) error {
	if err := s.known(req.GetFleet()); err != nil {
		return err
	}
	text := []string{"{\n", `  "fleet": "` + req.GetFleet() + "\"\n", "}\n"}
	if req.GetFormat() == adminv1.RenderFormat_RENDER_FORMAT_HAPROXY {
		text = []string{"global\n", "    hard-stop-after 10m\n"}
	}
	for _, piece := range text {
		if err := stream.Send(&adminv1.RenderResponse{Text: piece}); err != nil {
			return err
		}
	}
	if req.GetFleet() == "edge" {
		return status.Error(codes.Internal, "edge cannot be written")
	}
	return nil
}

func (s *scripted) DiffNode(_ context.Context, req *adminv1.DiffNodeRequest) (*adminv1.DiffNodeResponse, error) {
	d := &adminv1.DiffNodeResponse{
		Equal: true, WantedRevision: mark(3), WantedGeneration: mark(12), AppliedRevision: mark(3), AppliedGeneration: mark(12), ServersCompared: 16,
	}
	switch req.GetNode() {
	case "node-1":
	case "node-2":
		d.Equal, d.AppliedGeneration, d.DifferencesTotal = false, mark(11), 1234
		d.Differences = []*adminv1.SlotDifference{
			{Backend: "shop_api_80", Wanted: "a backend", Worker: "nothing"},
			{Backend: "shop_web_http", Slot: 2, Wanted: "10.0.0.2:8080 drain", Worker: "10.0.0.2:8080 ready"},
		}
	case "early":
		d.WantedRevision, d.WantedGeneration, d.ServersCompared = nil, nil, 0
	case "node-3":
		return nil, status.Error(codes.Unavailable, "node node-3 is not connected")
	case "slow":
		return nil, status.Error(codes.DeadlineExceeded, "node slow does not answer")
	default:
		return nil, status.Errorf(codes.NotFound, "there is no node %q", req.GetNode())
	}
	return d, nil
}

func (s *scripted) Watch(req *adminv1.WatchRequest, stream grpc.ServerStreamingServer[adminv1.WatchResponse]) error {
	fleets, _ := s.ListFleets(stream.Context(), &adminv1.ListFleetsRequest{})
	nodes, _ := s.ListNodes(stream.Context(), &adminv1.ListNodesRequest{PageToken: "1"})
	sources, _ := s.ListSources(stream.Context(), nil)
	for i, e := range []*adminv1.WatchResponse{
		{Fleet: "default", Event: &adminv1.WatchResponse_FleetChanged{FleetChanged: fleets.GetFleets()[0]}},
		{Fleet: "edge", Event: &adminv1.WatchResponse_FleetChanged{FleetChanged: &adminv1.Fleet{Name: "edge", Waiting: "source east is not read"}}},
		{Fleet: "default", Event: &adminv1.WatchResponse_NodeChanged{NodeChanged: nodes.GetNodes()[0]}},
		{Event: &adminv1.WatchResponse_SourceChanged{SourceChanged: sources.GetSources()[0]}},
		{Event: &adminv1.WatchResponse_SourceChanged{SourceChanged: &adminv1.Source{Name: "east", Error: "no such directory"}}},
		{Event: &adminv1.WatchResponse_SourceChanged{SourceChanged: &adminv1.Source{Name: "north"}}},
		{Event: &adminv1.WatchResponse_SourceChanged{SourceChanged: sources.GetSources()[len(sources.GetSources())-1]}},
		{Fleet: "default", Event: &adminv1.WatchResponse_ObjectChanged{ObjectChanged: &adminv1.Object{
			Object: "Ingress shop/pay", State: adminv1.ObjectState_OBJECT_STATE_REJECTED, Reason: "no certificate", Cluster: "east",
		}}},
		{Fleet: "default", Event: &adminv1.WatchResponse_ObjectChanged{ObjectChanged: &adminv1.Object{Object: "Ingress shop/pay", Cluster: "east"}}},
		{Fleet: "default"},
	} {
		if req.GetFleet() != "" && e.GetFleet() != "" && e.GetFleet() != req.GetFleet() {
			continue
		}
		e.Time = at(i)
		if err := stream.Send(e); err != nil {
			return err
		}
	}
	if s.watched == nil {
		return nil
	}
	close(s.watched)
	<-stream.Context().Done()
	return stream.Context().Err()
}
