package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
)

const askTime = 10 * time.Second

func adminClient(t harness.T, address string) adminv1.AdminServiceClient {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatalf("connect to the plane's admin address %s: %v", address, err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return adminv1.NewAdminServiceClient(conn)
}

// Admin is the plane's admin service.
func (r *Rig) Admin() adminv1.AdminServiceClient { return r.admin }

// A Document is what berthctl render -o json says.
type Document struct {
	Fleet    string
	Revision string
	Backends []Backend
	Rejected []Object
	Warned   []Object
	Sources  []struct{ Name, Error string }
}

// A Backend is a backend of a Document.
type Backend struct {
	Name, Service string
	Slots         []Slot
}

// A Slot is a slot of a Document's backend.
type Slot struct {
	Slot     int
	State    string
	Address  string
	Port     uint16
	Weight   int
	Endpoint string
}

// An Object is an object with a reason.
type Object struct{ Object, Reason string }

// Backend returns the backend of a service (namespace/name:port), nil if there is none.
func (d Document) Backend(service string) *Backend {
	for i := range d.Backends {
		if d.Backends[i].Service == service {
			return &d.Backends[i]
		}
	}
	return nil
}

// At returns the slot in which an address stands, 0 if none.
func (b *Backend) At(address string) int {
	for _, s := range b.Slots {
		if s.State != "free" && s.AddrPort().String() == address {
			return s.Slot
		}
	}
	return 0
}

// AddrPort is the slot's address and port.
func (s Slot) AddrPort() netip.AddrPort {
	a, _ := netip.ParseAddr(s.Address)
	return netip.AddrPortFrom(a, s.Port)
}

// ParseDocument reads what berthctl render -o json printed.
func ParseDocument(text string) (Document, error) {
	var d Document
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return d, fmt.Errorf("read a rendered document: %w: %.300s", err, text)
	}
	return d, nil
}

// Wanted asks the plane for what a fleet shall have.
func (r *Rig) Wanted(fleet string) (Document, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	stream, err := r.admin.Render(ctx, &adminv1.RenderRequest{Fleet: fleet, Format: adminv1.RenderFormat_RENDER_FORMAT_JSON})
	if err != nil {
		return Document{}, fmt.Errorf("ask the plane to render fleet %s: %w", fleet, err)
	}
	var text strings.Builder
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return ParseDocument(text.String())
		}
		if err != nil {
			return Document{}, fmt.Errorf("ask the plane to render fleet %s: %w", fleet, err)
		}
		text.WriteString(part.GetText())
	}
}

// Ask is what the plane says of each node, by name.
func (r *Rig) Ask() (map[string]*adminv1.Node, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	answer, err := r.admin.ListNodes(ctx, &adminv1.ListNodesRequest{PageSize: 1000})
	if err != nil {
		return nil, fmt.Errorf("ask the plane for its nodes: %w", err)
	}
	nodes := map[string]*adminv1.Node{}
	for _, n := range answer.GetNodes() {
		nodes[n.GetName()] = n
	}
	return nodes, nil
}

// FleetState is what the plane says of a fleet.
func (r *Rig) FleetState(name string) (*adminv1.Fleet, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	answer, err := r.admin.ListFleets(ctx, &adminv1.ListFleetsRequest{})
	if err != nil {
		return nil, fmt.Errorf("ask the plane for its fleets: %w", err)
	}
	for _, f := range answer.GetFleets() {
		if f.GetName() == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("the plane knows no fleet %s, but %v", name, answer.GetFleets())
}

// Compare says how a worker's servers differ from what the plane wants of a fleet, nil if they do not. What the worker has beyond that is left
// out: the backends of routes that went stay until the next reload. With loaded, so are backends that the worker does not have yet: its revision
// may be older than the newest, its slots may not.
func Compare(wanted Document, servers []haproxy.Server, loaded bool) error {
	has, backends := map[string]haproxy.Server{}, map[string]bool{}
	for _, s := range servers {
		has[s.Backend+"/"+s.Name], backends[s.Backend] = s, true
	}
	var different []string
	for _, b := range wanted.Backends {
		if loaded && !backends[b.Name] {
			continue
		}
		for _, s := range b.Slots {
			name := fmt.Sprintf("%s/s%d", b.Name, s.Slot)
			server, ok := has[name]
			if why := s.differs(server); !ok || why != "" {
				different = append(different, fmt.Sprintf("%s is to be %s %s, the worker has it %s", name, s.State, s.AddrPort(), why))
			}
		}
	}
	if len(different) > 0 {
		return fmt.Errorf("%d servers differ: %s", len(different), strings.Join(different[:min(5, len(different))], "; "))
	}
	return nil
}

// differs says how the worker has the slot, if otherwise.
func (s Slot) differs(server haproxy.Server) string {
	state, address := haproxy.State(s.State), s.AddrPort()
	if s.State == "free" {
		state, address = haproxy.Maint, netip.AddrPortFrom(haproxy.Placeholder, server.Address.Port())
	}
	switch {
	case server.Name == "":
		return "not at all"
	case server.State != state || server.Address != address:
		return fmt.Sprintf("%s %s", server.State, server.Address)
	}
	return ""
}
