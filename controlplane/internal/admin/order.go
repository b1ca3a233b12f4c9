package admin

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/berth-proxy/berth/controlplane/internal/guard"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/store"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

// ForgetSource makes what cannot be read of a source count as deleted.
func (s *Server) ForgetSource(ctx context.Context, req *adminv1.ForgetSourceRequest) (*adminv1.ForgetSourceResponse, error) {
	src, err := s.source(req.GetSource())
	if err != nil {
		return nil, err
	}
	forgetter := s.Forgetters[src.Name]
	if forgetter == nil {
		return nil, status.Errorf(codes.FailedPrecondition, "source %s is of a kind that cannot forget", src.Name)
	}
	removed, err := forgetter.Forget(ctx)
	switch {
	case errors.Is(err, source.ErrNothingToForget):
		return nil, status.Errorf(codes.FailedPrecondition, "source %s: %v; to take objects away, remove their files", src.Name, err)
	case errors.Is(err, source.ErrEnded):
		return nil, status.Errorf(codes.Unavailable, "source %s: %v; the control plane is shutting down", src.Name, err)
	case err != nil:
		return nil, status.Errorf(status.FromContextError(err).Code(), "forget what cannot be read of source %s: %v", src.Name, err)
	}
	out := &adminv1.ForgetSourceResponse{ObjectsRemoved: uint32(removed)} //nolint:gosec // A count.
	if src, err = s.source(src.Name); err == nil {
		out.Source = s.showSource(src)
	}
	return out, nil
}

// ReleaseGuard removes at once what the guard holds back of a source.
func (s *Server) ReleaseGuard(_ context.Context, req *adminv1.ReleaseGuardRequest) (*adminv1.ReleaseGuardResponse, error) {
	src, err := s.source(req.GetSource())
	if err != nil {
		return nil, err
	}
	removed, err := s.Guard.Release(src.Name)
	if errors.Is(err, guard.ErrNothingHeld) {
		return nil, status.Errorf(codes.FailedPrecondition, "source %s: %v", src.Name, err)
	}
	return &adminv1.ReleaseGuardResponse{ObjectsRemoved: uint32(removed)}, nil //nolint:gosec // A count.
}

// source finds a source by its name.
func (s *Server) source(name string) (store.Source, error) {
	read := s.Store.Read()
	if src, ok := read.Source(name); ok {
		return src, nil
	}
	var names []string
	for src := range read.Sources() {
		names = append(names, src.Name)
	}
	return store.Source{}, status.Errorf(codes.NotFound, "there is no source %q; there are %s", name, strings.Join(names, ", "))
}
