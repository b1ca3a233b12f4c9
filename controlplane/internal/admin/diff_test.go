package admin

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	"github.com/berth-proxy/berth/controlplane/internal/stream"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// perfect is a worker that has what the head wants.
func perfect(h *changelog.Head) []*fleetv1.InspectedBackend {
	list := []*fleetv1.InspectedBackend{{Backend: "berth_unavailable"}, {Backend: "berth_probe", Servers: []*fleetv1.InspectedServer{{Name: "probe"}}}}
	for t := range h.Generation.All() {
		b := &fleetv1.InspectedBackend{Backend: t.Backend}
		for i, s := range t.Slots {
			b.Servers = append(b.Servers, &fleetv1.InspectedServer{
				Name: render.ServerName(i), Address: s.Server().Addr().String(), Port: uint32(s.Server().Port()), Weight: uint32(render.ServerWeight(s)),
				Maintenance: s.State == snapshot.Free, Drain: s.State == snapshot.Drain, Up: true,
			})
		}
		list = append(list, b)
	}
	return list
}

func TestADM4EveryDifferenceIsFound(t *testing.T) {
	r := start(t, "home")
	r.synced("home", shop)
	head := r.published("default", hasBackend("shop_web_80"))
	r.nodes.Connect(&fleetv1.Hello{Fleet: "default", Node: "a", Applied: head.Marks().Proto(), Held: head.Marks().Proto()}, "")
	for name, c := range map[string]struct {
		change func(b *fleetv1.InspectedBackend)
		want   string
	}{
		"none":                                  {func(*fleetv1.InspectedBackend) {}, "[]"},
		"another address":                       {server(0, func(s *fleetv1.InspectedServer) { s.Address = "10.0.0.9" }), "[1: ready 10.0.0.1:8080 weight 100 / ready 10.0.0.9:8080 weight 100]"},
		"another port":                          {server(0, func(s *fleetv1.InspectedServer) { s.Port = 81 }), "[1: ready 10.0.0.1:8080 weight 100 / ready 10.0.0.1:81 weight 100]"},
		"another weight":                        {server(1, func(s *fleetv1.InspectedServer) { s.Weight = 1 }), "[2: ready 10.0.0.2:8080 weight 100 / ready 10.0.0.2:8080 weight 1]"},
		"in maintenance":                        {server(1, func(s *fleetv1.InspectedServer) { s.Maintenance = true }), "[2: ready 10.0.0.2:8080 weight 100 / maintenance 10.0.0.2:8080]"},
		"drained":                               {server(1, func(s *fleetv1.InspectedServer) { s.Drain = true }), "[2: ready 10.0.0.2:8080 weight 100 / drain 10.0.0.2:8080 weight 0]"},
		"not drained":                           {server(2, func(s *fleetv1.InspectedServer) { s.Drain, s.Weight = false, 100 }), "[3: drain 10.0.0.3:8080 weight 0 / ready 10.0.0.3:8080 weight 100]"},
		"drained by its weight":                 {server(2, func(s *fleetv1.InspectedServer) { s.Drain = false }), "[]"},
		"an enabled placeholder":                {server(3, func(s *fleetv1.InspectedServer) { s.Maintenance = false }), "[4: free / ready 192.0.2.1:1 weight 100]"},
		"a vacated slot that keeps its address": {server(3, func(s *fleetv1.InspectedServer) { s.Address, s.Port = "10.0.0.8", 8080 }), "[4: free / maintenance 10.0.0.8:8080]"},
		"no address":                            {server(0, func(s *fleetv1.InspectedServer) { s.Address = "-" }), `[1: ready 10.0.0.1:8080 weight 100 / address "-" port 8080]`},
		"a server too few": {func(b *fleetv1.InspectedBackend) {
			b.Servers = b.Servers[:3]
		}, "[4: free / missing]"},
		"a free server too many": {func(b *fleetv1.InspectedBackend) {
			b.Servers = append(b.Servers, &fleetv1.InspectedServer{Name: "s5", Address: "192.0.2.1", Port: 1, Weight: 100, Maintenance: true})
		}, "[]"},
		"a server too many": {func(b *fleetv1.InspectedBackend) {
			b.Servers = append(b.Servers, &fleetv1.InspectedServer{Name: "s5", Address: "10.0.0.5", Port: 80, Weight: 100})
		}, "[5: none / ready 10.0.0.5:80 weight 100]"},
		"the backend is missing": {func(b *fleetv1.InspectedBackend) {
			b.Backend = "other"
		}, "[0: none / a backend with 4 servers 0: a backend with 4 slots / missing]"},
	} {
		t.Run(name, func(t *testing.T) {
			has := perfect(head)
			c.change(has[2])
			r.worker = func(context.Context, node.Key, []string) ([]*fleetv1.InspectedBackend, error) { return has, nil }
			d, err := r.client.DiffNode(t.Context(), &adminv1.DiffNodeRequest{Node: "a"})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, x := range d.GetDifferences() {
				got = append(got, fmt.Sprintf("%d: %s / %s", x.GetSlot(), x.GetWanted(), x.GetWorker()))
			}
			if fmt.Sprint(got) != c.want {
				t.Errorf("differences %v, want %v", got, c.want)
			}
			if d.GetEqual() != (len(got) == 0) || d.GetServersCompared() != 4 && name != "the backend is missing" || int(d.GetDifferencesTotal()) != len(got) {
				t.Errorf("equal %v, %d differences in %d servers", d.GetEqual(), d.GetDifferencesTotal(), d.GetServersCompared())
			}
		})
	}
}

func server(i int, change func(*fleetv1.InspectedServer)) func(*fleetv1.InspectedBackend) {
	return func(b *fleetv1.InspectedBackend) {
		change(b.Servers[i])
	}
}

// The node's own backends are known by their names, not by how these begin: a namespace may be called berth.
func TestADM4BackendsThatNobodyWants(t *testing.T) {
	head := changelog.New(changelog.Limits{}).Head()
	servers := []*fleetv1.InspectedServer{{Name: "s1", Address: "10.0.0.1", Port: 80, Weight: 100}}
	for backend, want := range map[string]uint32{"berth_web_80": 1, "shop_web_80": 1, render.ProbeBackend: 0} {
		if got := compare(head, false, []*fleetv1.InspectedBackend{{Backend: backend, Servers: servers}}).GetDifferencesTotal(); got != want {
			t.Errorf("%s makes %d differences, want %d", backend, got, want)
		}
	}
}

// The worker is asked again while the fleet changes under the question.
// Of a frozen fleet only the tables of the sources that were read are compared, and what a node keeps of the others is no difference.
func TestADM4AFrozenFleet(t *testing.T) {
	r := start(t, "home")
	r.synced("home", shop)
	head := r.published("default", hasBackend("shop_web_80"))
	far := &fleetv1.InspectedBackend{Backend: "far.shop_web_80", Servers: []*fleetv1.InspectedServer{{Name: "s1", Address: "10.9.0.1", Port: 80, Weight: 100}}}
	if d := compare(head, true, append(perfect(head), far)); d.GetDifferencesTotal() != 0 || d.GetServersCompared() != 4 {
		t.Errorf("%d servers compared, differences %v", d.GetServersCompared(), d.GetDifferences())
	}
	wrong := perfect(head)
	wrong[2].Servers[0].Address = "10.0.0.9"
	if d := compare(head, true, append(wrong, far)); d.GetDifferencesTotal() != 1 {
		t.Errorf("another address: %v", d.GetDifferences())
	}
	if d := compare(head, true, []*fleetv1.InspectedBackend{far}); d.GetDifferencesTotal() != 0 {
		t.Errorf("a backend that its revision does not have: %v", d.GetDifferences())
	}
}

func TestADM4AQuestionDuringAChange(t *testing.T) {
	r := start(t, "home")
	r.synced("home", shop)
	head := r.published("default", hasBackend("shop_web_80"))
	r.nodes.Connect(&fleetv1.Hello{Fleet: "default", Node: "a", Applied: head.Marks().Proto()}, "")
	r.adopted("default")
	asked := 0
	r.worker = func(context.Context, node.Key, []string) ([]*fleetv1.InspectedBackend, error) {
		if asked++; asked == 1 {
			r.synced("home", "")
			r.published("default", func(h *changelog.Head) bool { return h.Revision.Backend("shop_web_80") == nil })
			return perfect(head)[:1], nil
		}
		return nil, nil
	}
	d, err := r.client.DiffNode(t.Context(), &adminv1.DiffNodeRequest{Node: "a", Fleet: "default"})
	if err != nil || d.GetDifferencesTotal() != 0 || d.GetEqual() {
		t.Errorf("asked %d times: %v, %v; the worker's servers are equal, its revision is not", asked, d, err)
	}
}

func TestADM4ANodeThatCannotBeAsked(t *testing.T) {
	r := start(t, "home")
	r.synced("home", shop)
	r.published("default", hasBackend("shop_web_80"))
	r.nodes.Connect(&fleetv1.Hello{Fleet: "default", Node: "a"}, "")
	for _, c := range []struct {
		err  error
		want codes.Code
	}{
		{stream.ErrNotConnected, codes.Unavailable},
		{&stream.NodeError{Problem: node.Problem{Code: fleetv1.Code_CODE_UNREACHABLE, Message: "no socket"}}, codes.Unavailable},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{context.Canceled, codes.Canceled},
	} {
		r.worker = func(context.Context, node.Key, []string) ([]*fleetv1.InspectedBackend, error) { return nil, c.err }
		_, err := r.client.DiffNode(t.Context(), &adminv1.DiffNodeRequest{Node: "a"})
		wantCode(t, c.err.Error(), err, c.want)
	}
}
