package admin

import (
	"cmp"
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

// The limits of a page: items if nothing else is asked for, items at most, and about how many bytes.
const (
	defaultPage = 200
	maxPage     = 1000
	maxBytes    = 3 << 20
)

// page cuts one page out of items, which are in the order of their keys. A token is the key of the last item of the page before, so that what
// comes and goes between two pages moves nothing.
func page[T any, M proto.Message](items []T, key func(T) string, show func(T) M, size int32, token string) (shown []M, next string, err error) {
	if size < 0 {
		return nil, "", status.Errorf(codes.InvalidArgument, "page_size is %d", size)
	}
	after, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return nil, "", status.Error(codes.InvalidArgument, "page_token is none that a list has given")
	}
	limit := min(cmp.Or(int(size), defaultPage), maxPage)
	start := 0
	if token != "" {
		start, _ = slices.BinarySearchFunc(items, string(after)+"\x00", func(i T, k string) int { return cmp.Compare(key(i), k) })
	}
	bytes := 0
	for i, item := range items[start:] {
		m := show(item)
		if bytes += proto.Size(m); i == limit || i > 0 && bytes > maxBytes {
			return shown, base64.RawURLEncoding.EncodeToString([]byte(key(items[start+i-1]))), nil
		}
		shown = append(shown, m)
	}
	return shown, "", nil
}

func listed(fleets map[string]changelog.Fleet) string {
	if len(fleets) == 0 {
		return "none yet"
	}
	return strings.Join(slices.Sorted(maps.Keys(fleets)), ", ")
}

// ListFleets lists the fleets.
func (s *Server) ListFleets(_ context.Context, req *adminv1.ListFleetsRequest) (*adminv1.ListFleetsResponse, error) {
	fleets := slices.SortedFunc(maps.Values(s.Fleets.Fleets().All()), func(a, b changelog.Fleet) int { return cmp.Compare(a.Name, b.Name) })
	shown, next, err := page(fleets, func(f changelog.Fleet) string { return f.Name },
		func(f changelog.Fleet) *adminv1.Fleet { return s.showFleet(f, s.problems(f.Name)) }, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	return &adminv1.ListFleetsResponse{Fleets: shown, NextPageToken: next}, nil
}

// ListNodes lists the nodes of a fleet, or of all. A fleet that is not known may have nodes, which wait for it.
func (s *Server) ListNodes(_ context.Context, req *adminv1.ListNodesRequest) (*adminv1.ListNodesResponse, error) {
	views := s.Nodes.List(req.GetFleet())
	if len(views) == 0 && req.GetFleet() != "" {
		if _, err := s.fleet(req.GetFleet()); err != nil {
			return nil, err
		}
	}
	heads := s.heads()
	slices.SortFunc(views, func(a, b node.View) int { return cmp.Compare(nodeKey(a), nodeKey(b)) })
	shown, next, err := page(views, nodeKey, func(v node.View) *adminv1.Node { return showNode(v, heads[v.Fleet]) }, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	return &adminv1.ListNodesResponse{Nodes: shown, NextPageToken: next}, nil
}

func nodeKey(v node.View) string { return v.Fleet + "\x00" + v.Name }

// heads are the newest of all fleets.
func (s *Server) heads() map[string]*changelog.Head {
	heads := map[string]*changelog.Head{}
	for name, f := range s.Fleets.Fleets().All() {
		heads[name] = f.Log.Head()
	}
	return heads
}

// ListBackends lists a fleet's backends.
func (s *Server) ListBackends(_ context.Context, req *adminv1.ListBackendsRequest) (*adminv1.ListBackendsResponse, error) {
	f, err := s.fleet(req.GetFleet())
	if err != nil {
		return nil, err
	}
	head := f.Log.Head()
	shown, next, err := page(s.Compiler.Backends(f.Name), func(b compile.BackendInfo) string { return b.Name },
		func(b compile.BackendInfo) *adminv1.Backend { return showBackend(b, head.Generation.Table(b.Name)) }, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	return &adminv1.ListBackendsResponse{Backends: shown, NextPageToken: next}, nil
}

// ListObjects lists the objects of which not everything is in force.
func (s *Server) ListObjects(_ context.Context, req *adminv1.ListObjectsRequest) (*adminv1.ListObjectsResponse, error) {
	f, err := s.fleet(req.GetFleet())
	if err != nil {
		return nil, err
	}
	problems := s.Compiler.Problems(f.Name)
	slices.SortFunc(problems, func(a, b compile.Problem) int { return cmp.Compare(problemKey(a), problemKey(b)) })
	shown, next, err := page(problems, problemKey, showProblem, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	return &adminv1.ListObjectsResponse{Objects: shown, NextPageToken: next}, nil
}

// problemKey puts what is rejected first.
func problemKey(p compile.Problem) string {
	return showState[p.State].String() + "\x00" + p.Object + "\x00" + p.Cluster
}

// ListSources lists the sources.
func (s *Server) ListSources(context.Context, *adminv1.ListSourcesRequest) (*adminv1.ListSourcesResponse, error) {
	out := &adminv1.ListSourcesResponse{}
	for src := range s.Store.Read().Sources() {
		out.Sources = append(out.Sources, s.showSource(src))
	}
	return out, nil
}
