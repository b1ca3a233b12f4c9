package admin

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

func TestADM1WhatIsNotThere(t *testing.T) {
	r := start(t, "home")
	r.synced("home", shop)
	r.published("default", hasBackend("shop_web_80"))
	ctx := t.Context()
	_, err := r.client.ListBackends(ctx, &adminv1.ListBackendsRequest{Fleet: "edge"})
	wantCode(t, "a fleet that is not there", err, codes.NotFound)
	if err == nil || !strings.Contains(err.Error(), "default") {
		t.Errorf("the error does not say which fleets there are: %v", err)
	}
	_, err = r.client.ListNodes(ctx, &adminv1.ListNodesRequest{Fleet: "edge"})
	wantCode(t, "nodes of a fleet that is not there", err, codes.NotFound)
	_, err = r.client.GetBackend(ctx, &adminv1.GetBackendRequest{Backend: "shop/web:81"})
	wantCode(t, "a backend that is not there", err, codes.NotFound)
	_, err = r.client.Explain(ctx, &adminv1.ExplainRequest{Url: "shop.example.com"})
	wantCode(t, "an URL without a scheme", err, codes.InvalidArgument)
	_, err = r.client.ListFleets(ctx, &adminv1.ListFleetsRequest{PageSize: -1})
	wantCode(t, "a negative page", err, codes.InvalidArgument)
	_, err = r.client.ListFleets(ctx, &adminv1.ListFleetsRequest{PageToken: "!"})
	wantCode(t, "a token that is none", err, codes.InvalidArgument)
	_, err = r.client.DiffNode(ctx, &adminv1.DiffNodeRequest{Node: "nobody"})
	wantCode(t, "a node that is not there", err, codes.NotFound)
	render, err := r.client.Render(ctx, &adminv1.RenderRequest{Format: 77})
	if err == nil {
		_, err = render.Recv()
	}
	wantCode(t, "a format that is not known", err, codes.InvalidArgument)

	for _, fleet := range []string{"edge", "core"} {
		r.nodes.Connect(&fleetv1.Hello{Fleet: fleet, Node: "twin"}, "")
	}
	_, err = r.client.DiffNode(ctx, &adminv1.DiffNodeRequest{Node: "twin"})
	wantCode(t, "a name in two fleets", err, codes.InvalidArgument)

	r.synced("home", shop+"\n---\napiVersion: berth.dev/v1alpha1\nkind: Fleet\nmetadata: {name: a}\n---\napiVersion: berth.dev/v1alpha1\nkind: Fleet\nmetadata: {name: b}\n")
	r.published("b", hasBackend("shop_web_80"))
	_, err = r.client.ListBackends(ctx, &adminv1.ListBackendsRequest{})
	wantCode(t, "no fleet of several", err, codes.InvalidArgument)
}

func TestADM2Pages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfDistinct(rapid.StringMatching(`[a-c]{1,3}`), rapid.ID[string]).Draw(t, "keys")
		slices.Sort(keys)
		size := int32(rapid.IntRange(1, 5).Draw(t, "size"))
		stay := map[string]bool{}
		for _, k := range keys {
			stay[k] = true
		}
		var got []string
		items := keys
		for token := ""; ; {
			shown, next, err := page(items, func(s string) string { return s }, func(s string) *adminv1.Fleet { return &adminv1.Fleet{Name: s} }, size, token)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range shown {
				got = append(got, f.GetName())
			}
			if token = next; token == "" {
				break
			}
			// Between two pages some go and one comes.
			items = slices.DeleteFunc(slices.Clone(items), func(s string) bool {
				gone := rapid.IntRange(0, 4).Draw(t, "goes") == 0
				stay[s] = stay[s] && !gone
				return gone
			})
		}
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("the pages give %v", got)
		}
		for _, k := range keys {
			if stay[k] && !slices.Contains(got, k) {
				t.Fatalf("%s stayed and was not given: %v", k, got)
			}
		}
	})
}

// A page is cut where it would be too large for a message, also below the number that was asked for.
func TestADM2APageFitsAMessage(t *testing.T) {
	long := strings.Repeat("x", 64<<10)
	items := make([]int, 200)
	for i := range items {
		items[i] = i
	}
	total := 0
	for token := ""; ; {
		shown, next, err := page(items, func(i int) string { return fmt.Sprintf("%03d", i) }, func(int) *adminv1.Fleet { return &adminv1.Fleet{Waiting: long} }, 1000, token)
		if err != nil {
			t.Fatal(err)
		}
		if size := proto.Size(&adminv1.ListFleetsResponse{Fleets: shown}); size > 4<<20 {
			t.Fatalf("a page of %d bytes", size)
		}
		total += len(shown)
		if token = next; token == "" {
			break
		}
	}
	if total != len(items) {
		t.Errorf("%d of %d items", total, len(items))
	}
}

func TestADM3FleetsAndNodes(t *testing.T) {
	r := start(t, "home")
	r.synced("home", shop+lost)
	head := r.published("default", hasBackend("shop_web_80"))
	held := head.Marks()
	behind := wire.Marks{Revision: held.Revision}
	hello := func(name string, m wire.Marks) *fleetv1.Hello {
		return &fleetv1.Hello{
			Fleet: "default", Node: name, Held: held.Proto(), Applied: m.Proto(), AgentVersion: "1.0",
			Haproxy: &fleetv1.HAProxy{Version: "3.4.7", Capabilities: []fleetv1.Capability{fleetv1.Capability_CAPABILITY_ADD_SERVER}},
		}
	}
	current := r.nodes.Connect(hello("current", held), "10.9.0.1:5")
	current.Applied(&fleetv1.Applied{Applied: held.Proto()}, 40*time.Millisecond)
	current.Observed(&fleetv1.Observed{OldWorkers: 1, Reloads: 7, Drifts: 2, WorkerRestarts: 3})
	r.nodes.Connect(hello("behind", behind), "").Received(&fleetv1.Received{Held: held.Proto(), Code: fleetv1.Code_CODE_OK})
	r.nodes.Connect(hello("rejected", behind), "").Rejected(&fleetv1.Rejected{Revision: held.Revision.Proto(), Code: fleetv1.Code_CODE_CONFIG_REFUSED, Message: "line 3"})
	r.nodes.Connect(hello("away", held), "").Close()

	fleets, err := r.client.ListFleets(t.Context(), &adminv1.ListFleetsRequest{})
	if err != nil || len(fleets.GetFleets()) != 1 {
		t.Fatalf("fleets: %v, %v", fleets, err)
	}
	f := fleets.GetFleets()[0]
	text := protojson.MarshalOptions{EmitUnpopulated: true}.Format(f)
	if f.GetNodes() != 4 || f.GetNodesConnected() != 3 || f.GetRevisionApplied() != 4 || f.GetGenerationApplied() != 2 || f.GetNodesRejected() != 1 {
		t.Errorf("nodes of the fleet: %s", text)
	}
	if f.GetBackends() != 1 || f.GetSlots() != 4 || f.GetSlotsReady() != 2 || f.GetSlotsDraining() != 1 || f.GetSlotsFree() != 1 {
		t.Errorf("slots of the fleet: %s", text)
	}
	if f.GetObjectsRejected()+f.GetObjectsWarned() != 1 || f.GetRevision().GetDigest() != held.Revision.Digest.String() || f.GetRevision().GetTime() == nil {
		t.Errorf("the fleet: %s", text)
	}

	nodes, err := r.client.ListNodes(t.Context(), &adminv1.ListNodesRequest{PageSize: 3})
	if err != nil || len(nodes.GetNodes()) != 3 || nodes.GetNextPageToken() == "" {
		t.Fatalf("nodes: %v, %v", nodes, err)
	}
	states := map[string]adminv1.NodeState{}
	for _, n := range nodes.GetNodes() {
		states[n.GetName()] = n.GetState()
		if n.GetName() == "current" {
			if n.GetReloads() != 7 || n.GetOldWorkers() != 1 || n.GetLastLatency().AsDuration() != 40*time.Millisecond ||
				n.GetAddress() != "10.9.0.1:5" || !slices.Equal(n.GetCapabilities(), []string{"add_server"}) || n.GetLag() != 0 {
				t.Errorf("node current: %v", n)
			}
		}
	}
	rest, err := r.client.ListNodes(t.Context(), &adminv1.ListNodesRequest{PageSize: 3, PageToken: nodes.GetNextPageToken()})
	if err != nil || len(rest.GetNodes()) != 1 || rest.GetNextPageToken() != "" {
		t.Fatalf("the last page: %v, %v", rest, err)
	}
	n := rest.GetNodes()[0]
	states[n.GetName()] = n.GetState()
	if n.GetCode() != "CONFIG_REFUSED" || n.GetMessage() != "line 3" {
		t.Errorf("node rejected: %v", n)
	}
	want := map[string]adminv1.NodeState{
		"current": adminv1.NodeState_NODE_STATE_CURRENT, "behind": adminv1.NodeState_NODE_STATE_BEHIND,
		"rejected": adminv1.NodeState_NODE_STATE_REJECTED, "away": adminv1.NodeState_NODE_STATE_DISCONNECTED,
	}
	for name, state := range want {
		if states[name] != state {
			t.Errorf("node %s is %s, want %s", name, states[name], state)
		}
	}
}

// A page of nodes fits a message, whatever slots they could not take and however long the words are.
func TestADM2NodesWithManyExceptedSlots(t *testing.T) {
	r := start(t, "home")
	applied := &fleetv1.Applied{Applied: wire.Marks{}.Proto()}
	for i := range wire.MaxExcepted {
		applied.Excepted = append(applied.Excepted, &fleetv1.ExceptedSlot{
			Backend: strings.Repeat("b", snapshot.MaxName), Slot: uint32(i%snapshot.MaxSlots) + 1, Message: strings.Repeat("x", wire.MaxText),
		})
	}
	for i := range 20 {
		r.nodes.Connect(&fleetv1.Hello{Fleet: "default", Node: fmt.Sprint("n", i)}, "").Applied(applied, 0)
	}
	seen := 0
	for token := ""; ; {
		page, err := r.client.ListNodes(t.Context(), &adminv1.ListNodesRequest{PageSize: 1000, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		if size := proto.Size(page); size > 4<<20 {
			t.Errorf("a page of %d bytes", size)
		}
		for _, n := range page.GetNodes() {
			seen++
			if len(n.GetExcepted()) != 100 || n.GetExceptedTotal() != wire.MaxExcepted {
				t.Errorf("node %s shows %d of %d slots", n.GetName(), len(n.GetExcepted()), n.GetExceptedTotal())
			}
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	if seen != 20 {
		t.Errorf("%d nodes", seen)
	}
}

func TestBackendsObjectsAndSources(t *testing.T) {
	r := start(t, "home", "other")
	r.synced("home", shop+lost)
	r.store.Deliver(source.Batch{Source: "other", Seen: time.Now(), Full: true, State: &source.State{
		Listed: true, Synced: true, StaleSince: time.Unix(100, 0), Error: "a.yaml cannot be read",
	}})
	r.published("default", hasBackend("shop_web_80"))
	backends, err := r.client.ListBackends(t.Context(), &adminv1.ListBackendsRequest{})
	if err != nil || len(backends.GetBackends()) != 1 {
		t.Fatalf("backends: %v, %v", backends, err)
	}
	if b := backends.GetBackends()[0]; b.GetService() != "shop/web:80" || b.GetReady() != 2 || b.GetDraining() != 1 || b.GetSlots() != 4 || b.GetChanged().GetNumber() == 0 {
		t.Errorf("the backend: %v", b)
	}
	for _, name := range []string{"shop_web_80", "shop/web:80"} {
		b, err := r.client.GetBackend(t.Context(), &adminv1.GetBackendRequest{Fleet: "default", Backend: name})
		if err != nil || len(b.GetSlots()) != 4 || len(b.GetLines()) == 0 {
			t.Fatalf("backend %s: %v, %v", name, b, err)
		}
		if s := b.GetSlots()[2]; s.GetSlot() != 3 || s.GetState() != adminv1.SlotState_SLOT_STATE_DRAIN || s.GetAddress() != "10.0.0.3" || s.GetEndpoint() != "shop/pod-c" {
			t.Errorf("slot 3: %v", s)
		}
	}
	objects, err := r.client.ListObjects(t.Context(), &adminv1.ListObjectsRequest{})
	if err != nil || len(objects.GetObjects()) != 1 || objects.GetObjects()[0].GetObject() != "Ingress shop/lost" || objects.GetObjects()[0].GetReason() == "" {
		t.Errorf("objects: %v, %v", objects, err)
	}
	sources, err := r.client.ListSources(t.Context(), &adminv1.ListSourcesRequest{})
	if err != nil || len(sources.GetSources()) != 2 {
		t.Fatalf("sources: %v, %v", sources, err)
	}
	home, other := sources.GetSources()[0], sources.GetSources()[1]
	if home.GetLocation() != "home=dir:/home" || home.GetObjects() != 4 || !home.GetSynced() || home.GetError() != "" {
		t.Errorf("source home: %v", home)
	}
	if other.GetError() == "" || other.GetStaleSince().AsTime().Unix() != 100 {
		t.Errorf("source other: %v", other)
	}
}
