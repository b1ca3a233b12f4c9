package admin

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// until reads events until one is as wanted.
func until(t *testing.T, w grpc.ServerStreamingClient[adminv1.WatchResponse], what string, wanted func(*adminv1.WatchResponse) bool) *adminv1.WatchResponse {
	t.Helper()
	for {
		m, err := w.Recv()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if m.GetTime() == nil {
			t.Errorf("an event without a time: %v", m)
		}
		if wanted(m) {
			return m
		}
	}
}

func watch(t *testing.T, r *rig, fleet string) grpc.ServerStreamingClient[adminv1.WatchResponse] {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	w, err := r.client.Watch(ctx, &adminv1.WatchRequest{Fleet: fleet})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestADM5WatchTellsWhatIsAndWhatChanges(t *testing.T) {
	r := start(t, "home")
	r.synced("home", shop+lost)
	head := r.published("default", hasBackend("shop_web_80"))
	session := r.nodes.Connect(&fleetv1.Hello{Fleet: "default", Node: "a"}, "")
	w := watch(t, r, "")
	until(t, w, "the fleet as it is", func(m *adminv1.WatchResponse) bool {
		return m.GetFleetChanged().GetGeneration().GetNumber() == head.Generation.Version.Number && m.GetFleet() == "default"
	})
	until(t, w, "the node as it is", func(m *adminv1.WatchResponse) bool {
		return m.GetNodeChanged().GetState() == adminv1.NodeState_NODE_STATE_BEHIND && m.GetNodeChanged().GetLastHeard() != nil
	})
	until(t, w, "the source as it is", func(m *adminv1.WatchResponse) bool { return m.GetSourceChanged().GetName() == "home" })
	until(t, w, "the object as it is", func(m *adminv1.WatchResponse) bool { return m.GetObjectChanged().GetObject() == "Ingress shop/lost" })

	session.Applied(&fleetv1.Applied{Applied: head.Marks().Proto()}, 0)
	until(t, w, "the node is current", func(m *adminv1.WatchResponse) bool {
		return m.GetNodeChanged().GetState() == adminv1.NodeState_NODE_STATE_CURRENT
	})
	r.synced("home", shop)
	until(t, w, "the node is behind again", func(m *adminv1.WatchResponse) bool {
		return m.GetNodeChanged().GetState() == adminv1.NodeState_NODE_STATE_BEHIND
	})
	until(t, w, "the object is mended", func(m *adminv1.WatchResponse) bool {
		return m.GetObjectChanged().GetObject() == "Ingress shop/lost" && m.GetObjectChanged().GetState() == adminv1.ObjectState_OBJECT_STATE_UNSPECIFIED
	})
	r.synced("home", shop+"---\napiVersion: berth.dev/v1alpha1\nkind: Fleet\nmetadata: {name: edge}\n")
	until(t, w, "the fleet is gone", func(m *adminv1.WatchResponse) bool {
		return m.GetFleetChanged().GetName() == "default" && m.GetFleetChanged().GetWaiting() != ""
	})
	r.server.Close()
	for {
		if _, err := w.Recv(); err != nil {
			wantCode(t, "the plane shuts down", err, codes.Unavailable)
			break
		}
	}
}

// A client that does not read is told later, of less, and nobody waits for it.
func TestADM5AWatcherThatDoesNotRead(t *testing.T) {
	r := start(t, "home")
	r.synced("home", shop)
	r.published("default", hasBackend("shop_web_80"))
	lazy := watch(t, r, "default")
	busy := watch(t, r, "default")
	session := r.nodes.Connect(&fleetv1.Hello{Fleet: "default", Node: "a"}, "")
	const last = 2000
	for i := range last {
		session.Observed(&fleetv1.Observed{Reloads: uint64(i + 1)})
	}
	isLast := func(m *adminv1.WatchResponse) bool { return m.GetNodeChanged().GetReloads() == last }
	until(t, busy, "the newest", isLast)
	events := 0
	until(t, lazy, "the newest, later", func(m *adminv1.WatchResponse) bool {
		events++
		return isLast(m)
	})
	if events > last/2 {
		t.Errorf("the client that did not read was told of %d changes one by one", events)
	}
}

func TestADM5WatchOfOneFleet(t *testing.T) {
	r := start(t, "home")
	r.synced("home", shop+"---\napiVersion: berth.dev/v1alpha1\nkind: Fleet\nmetadata: {name: edge}\n---\napiVersion: berth.dev/v1alpha1\nkind: Fleet\nmetadata: {name: core}\n")
	r.published("core", func(h *changelog.Head) bool { return h.Published() })
	r.published("edge", func(h *changelog.Head) bool { return h.Published() })
	r.nodes.Connect(&fleetv1.Hello{Fleet: "core", Node: "c"}, "")
	r.nodes.Connect(&fleetv1.Hello{Fleet: "edge", Node: "e"}, "")
	w := watch(t, r, "edge")
	until(t, w, "the node of the fleet", func(m *adminv1.WatchResponse) bool {
		if m.GetFleet() == "core" {
			t.Errorf("told of another fleet: %v", m)
		}
		return m.GetNodeChanged().GetName() == "e"
	})
	_, err := watch(t, r, "nowhere").Recv()
	wantCode(t, "a fleet that is not there", err, codes.NotFound)
}

// Clients that watch and never read are let be, but not without end; who asks next is told so, and served when one has gone.
func TestADM5WatchersAreBounded(t *testing.T) {
	r := start(t, "home")
	r.synced("home", shop)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	first, leave := context.WithCancel(ctx)
	defer leave()
	for n := range maxWatchers {
		of := ctx
		if n == 0 {
			of = first
		}
		w, err := r.client.Watch(of, &adminv1.WatchRequest{})
		if err == nil {
			_, err = w.Recv()
		}
		if err != nil {
			t.Fatalf("watcher %d: %v", n, err)
		}
	}
	more := func() error {
		w, err := r.client.Watch(ctx, &adminv1.WatchRequest{})
		if err == nil {
			_, err = w.Recv()
		}
		return err
	}
	if err := more(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one more: %v", err)
	}
	leave()
	for err := more(); err != nil; err = more() {
		if status.Code(err) != codes.ResourceExhausted {
			t.Fatalf("when one has gone: %v", err)
		}
	}
}
