package admin

import (
	"context"
	"errors"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/view"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

// GetBackend shows one backend, found by its name or its Service.
func (s *Server) GetBackend(_ context.Context, req *adminv1.GetBackendRequest) (*adminv1.GetBackendResponse, error) {
	f, err := s.fleet(req.GetFleet())
	if err != nil {
		return nil, err
	}
	b, found := s.Compiler.Backend(f.Name, req.GetBackend())
	if !found {
		return nil, status.Errorf(codes.NotFound, "fleet %s has no backend %q, neither by name nor as namespace/service:port; ListBackends tells them",
			f.Name, req.GetBackend())
	}
	head := f.Log.Head()
	table := head.Generation.Table(b.Name)
	out := &adminv1.GetBackendResponse{Backend: showBackend(b, table)}
	if table != nil {
		for i, slot := range table.Slots {
			out.Slots = append(out.Slots, view.ShowSlot(i+1, slot))
		}
	}
	if published := head.Revision.Backend(b.Name); published != nil {
		for _, l := range published.Lines {
			line, err := render.Quote(l)
			if err != nil {
				return nil, status.Errorf(codes.Internal, "backend %s: %v", b.Name, err)
			}
			out.Lines = append(out.Lines, line)
		}
	}
	return out, nil
}

func (s *Server) explain(f changelog.Fleet, url string) (*adminv1.ExplainResponse, error) {
	x, err := s.Compiler.Explain(f.Name, url, f.Log.Head().Generation)
	switch {
	case errors.Is(err, compile.ErrUnknownFleet): // it went a moment ago
		return nil, status.Error(codes.NotFound, err.Error())
	case err != nil:
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return view.Explanation(x), nil
}

// renderPiece is how much text one message of Render has.
const renderPiece = 256 << 10

// Render shows a fleet's wanted state as text.
func (s *Server) Render(req *adminv1.RenderRequest, stream grpc.ServerStreamingServer[adminv1.RenderResponse]) error {
	f, err := s.fleet(req.GetFleet())
	if err != nil {
		return err
	}
	var text []byte
	switch req.GetFormat() {
	case adminv1.RenderFormat_RENDER_FORMAT_JSON, adminv1.RenderFormat_RENDER_FORMAT_UNSPECIFIED:
		text = s.document(f).JSON()
	case adminv1.RenderFormat_RENDER_FORMAT_HAPROXY:
		head := f.Log.Head()
		if text, err = view.HAProxy(head.Revision, head.Generation); err != nil {
			return status.Error(codes.Internal, err.Error())
		}
	default:
		return status.Errorf(codes.InvalidArgument, "the format %s is not known", req.GetFormat())
	}
	for len(text) > 0 {
		n := min(len(text), renderPiece)
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n--
		}
		if err := stream.Send(&adminv1.RenderResponse{Text: string(text[:n])}); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// document is what berthctl render -o json shows.
func (s *Server) document(f changelog.Fleet) view.Document {
	head := f.Log.Head()
	state := view.State{
		Fleet: f.Name, Home: s.Compiler.Home(), Revision: head.Revision, Generation: head.Generation,
		Backends: s.Compiler.Backends(f.Name), Routes: s.Compiler.Routes(f.Name), Problems: s.Compiler.Problems(f.Name),
	}
	for src := range s.Store.Read().Sources() {
		state.Sources = append(state.Sources, view.Source{Name: src.Name, Error: src.Error})
	}
	return view.Of(state)
}
