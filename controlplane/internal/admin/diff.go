package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	"github.com/berth-proxy/berth/controlplane/internal/stream"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// maxDifferences is how many differences are shown.
const maxDifferences = 1000

// DiffNode compares the newest tables with the worker's own answer. While the fleet changes, the answer may already have what came after the
// question, or not yet have what came before: it is asked again until nothing changed meanwhile, a few times.
func (s *Server) DiffNode(ctx context.Context, req *adminv1.DiffNodeRequest) (*adminv1.DiffNodeResponse, error) {
	key, err := s.node(req)
	if err != nil {
		return nil, err
	}
	f, err := s.fleet(key.Fleet)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		head := f.Log.Head()
		has, err := s.Inspect.Inspect(ctx, key, nil)
		if err != nil {
			return nil, inspectError(key, err)
		}
		out := compare(head, f.Frozen, has)
		if out.GetDifferencesTotal() == 0 || f.Log.Head() == head || try == 3 {
			s.conclude(out, key, head, f.Frozen)
			return out, nil
		}
	}
}

// node finds the node that is meant: by its name alone where that is unique.
func (s *Server) node(req *adminv1.DiffNodeRequest) (node.Key, error) {
	var found []node.Key
	for _, v := range s.Nodes.List(req.GetFleet()) {
		if v.Name == req.GetNode() {
			found = append(found, v.Key)
		}
	}
	switch len(found) {
	case 0:
		return node.Key{}, status.Errorf(codes.NotFound, "no node %q has connected; ListNodes tells those that have", req.GetNode())
	case 1:
		return found[0], nil
	}
	return node.Key{}, status.Errorf(codes.InvalidArgument, "%d fleets have a node %q; name the fleet", len(found), req.GetNode())
}

func inspectError(key node.Key, err error) error {
	var said *stream.NodeError
	switch {
	case errors.Is(err, stream.ErrNotConnected):
		return status.Errorf(codes.Unavailable, "node %s of fleet %s is not connected", key.Name, key.Fleet)
	case errors.As(err, &said):
		return status.Errorf(codes.Unavailable, "node %s cannot ask its worker: %s: %s", key.Name, wire.CodeName(said.Code), said.Message)
	case errors.Is(err, context.DeadlineExceeded):
		return status.Errorf(codes.DeadlineExceeded, "node %s did not answer in time", key.Name)
	}
	return status.Errorf(status.FromContextError(err).Code(), "inspect node %s: %v", key.Name, err)
}

// conclude adds what the two sides say that they are at.
func (s *Server) conclude(out *adminv1.DiffNodeResponse, key node.Key, head *changelog.Head, frozen bool) {
	v, _ := s.Nodes.Get(key)
	newest := head.Marks()
	out.WantedRevision, out.WantedGeneration = showMark(newest.Revision, head.RevisionTime), showMark(newest.Generation, head.GenerationTime)
	out.AppliedRevision, out.AppliedGeneration = showMark(v.Applied.Revision, time.Time{}), showMark(v.Applied.Generation, time.Time{})
	out.Equal = out.GetDifferencesTotal() == 0 && (frozen || v.Applied.Revision.Digest == newest.Revision.Digest)
}

// comparison gathers differences.
type comparison struct {
	out *adminv1.DiffNodeResponse
}

func (c *comparison) differs(backend string, slot int, wanted, worker string) {
	c.out.Differences = append(c.out.Differences, &adminv1.SlotDifference{
		Backend: backend, Slot: uint32(slot), Wanted: wanted, Worker: worker, //nolint:gosec // At most snapshot.MaxSlots.
	})
}

// compare finds where the worker is not what the head wants. Of a frozen fleet the plane wants nothing but the tables of the sources that it has read, in what backends there are.
func compare(head *changelog.Head, frozen bool, has []*fleetv1.InspectedBackend) *adminv1.DiffNodeResponse {
	c := comparison{&adminv1.DiffNodeResponse{}}
	worker := make(map[string][]*fleetv1.InspectedServer, len(has))
	for _, b := range has {
		worker[b.GetBackend()] = b.GetServers()
	}
	for t := range head.Generation.All() {
		if !frozen && head.Revision.Backend(t.Backend) == nil {
			delete(worker, t.Backend) // retired: the worker may have it still, or no longer
			continue
		}
		servers, there := worker[t.Backend]
		delete(worker, t.Backend)
		if !there && frozen {
			continue
		}
		if !there {
			c.differs(t.Backend, 0, fmt.Sprintf("a backend with %d slots", len(t.Slots)), "missing")
			continue
		}
		c.table(t, servers)
	}
	for backend, servers := range worker {
		if len(servers) > 0 && backend != render.ProbeBackend && !frozen {
			c.differs(backend, 0, "none", fmt.Sprintf("a backend with %d servers", len(servers)))
		}
	}
	slices.SortFunc(c.out.Differences, func(a, b *adminv1.SlotDifference) int {
		return cmp.Or(cmp.Compare(a.GetBackend(), b.GetBackend()), cmp.Compare(a.GetSlot(), b.GetSlot()))
	})
	c.out.DifferencesTotal = uint32(len(c.out.Differences)) //nolint:gosec // Bounded by what a node answers.
	c.out.Differences = c.out.Differences[:min(len(c.out.Differences), maxDifferences)]
	return c.out
}

func (c *comparison) table(t *snapshot.Table, servers []*fleetv1.InspectedServer) {
	bySlot := make(map[int]*fleetv1.InspectedServer, len(servers))
	for _, s := range servers {
		if i, ours := render.ServerIndex(s.GetName()); ours {
			bySlot[i] = s
		}
	}
	for i, s := range t.Slots {
		c.out.ServersCompared++
		has := bySlot[i]
		delete(bySlot, i)
		if wanted, worker := describe(s), describeServer(has); wanted != worker {
			c.differs(t.Backend, i+1, wanted, worker)
		}
	}
	free := describe(snapshot.Slot{})
	for i, s := range bySlot {
		// A worker may have more servers than the table has slots, until its next reload; they take no traffic.
		if worker := describeServer(s); worker != free {
			c.differs(t.Backend, i+1, "none", worker)
		}
	}
}

// describe is a slot as people see it. Two that are described alike are the same for HAProxy.
func describe(s snapshot.Slot) string {
	if s.State == snapshot.Free {
		return "free"
	}
	return fmt.Sprintf("%s %s weight %d", s.State, s.Server(), render.ServerWeight(s))
}

// describeServer is what the worker has in the words of describe. What no slot can be is told apart from all that one can.
func describeServer(s *fleetv1.InspectedServer) string {
	if s == nil {
		return "missing"
	}
	address, err := netip.ParseAddr(s.GetAddress())
	if err != nil || s.GetPort() > 65535 {
		return fmt.Sprintf("address %q port %d", s.GetAddress(), s.GetPort())
	}
	server := netip.AddrPortFrom(address, uint16(s.GetPort())) //nolint:gosec // Looked at above.
	switch {
	case s.GetMaintenance() && server == snapshot.Placeholder:
		return "free"
	case s.GetMaintenance():
		return fmt.Sprintf("maintenance %s", server)
	case s.GetDrain() || s.GetWeight() == 0:
		return fmt.Sprintf("%s %s weight 0", snapshot.Drain, server)
	}
	return fmt.Sprintf("%s %s weight %d", snapshot.Ready, server, s.GetWeight())
}
