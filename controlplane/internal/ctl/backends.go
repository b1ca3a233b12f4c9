package ctl

import (
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

func (r *run) backendsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "backends", Short: "List a fleet's backends with the numbers of their slots"}
	return r.question(cmd, func(p *plane) (proto.Message, *page, error) {
		fleet, err := p.fleet(r)
		if err != nil {
			return nil, nil, err
		}
		backends, err := p.backends(fleet)
		return &adminv1.ListBackendsResponse{Backends: backends}, backendPage(backends), err
	})
}

func (p *plane) backends(fleet string) ([]*adminv1.Backend, error) {
	var list []*adminv1.Backend
	err := pages(func(token string) (string, error) {
		answer, err := p.ListBackends(p.ctx, &adminv1.ListBackendsRequest{Fleet: fleet, PageSize: pageSize, PageToken: token})
		if err != nil {
			return "", p.failure("list the backends of fleet "+fleet, err)
		}
		list = append(list, answer.GetBackends()...)
		return answer.GetNextPageToken(), nil
	})
	return list, err
}

func backendPage(backends []*adminv1.Backend) *page {
	var p page
	rows := make([][]string, len(backends))
	for i, b := range backends {
		rows[i] = []string{
			b.GetName(), b.GetService(), b.GetCluster(),
			fmt.Sprint(b.GetSlots()), fmt.Sprint(b.GetReady()), fmt.Sprint(b.GetDraining()), fmt.Sprint(b.GetFree()), version(b.GetChanged()),
		}
	}
	p.table([]string{"BACKEND", "SERVICE", "CLUSTER", "SLOTS", "READY", "DRAIN", "FREE", "CHANGED"}, rows)
	return &p
}

func (r *run) slotsCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "slots BACKEND",
		Short:   "Show every slot of a backend, given by its name or as namespace/service:port",
		Example: "  berthctl slots shop_web_http\n  berthctl slots shop/web:http",
		Args:    one("a backend"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := r.format(asTable, asJSON)
			if err != nil {
				return err
			}
			return r.ask(cmd.Context(), func(p *plane) error { return r.slots(p, args[0], format) })
		},
	}
}

func (r *run) slots(p *plane, backend, format string) error {
	fleet, err := p.fleet(r)
	if err != nil {
		return err
	}
	b, err := p.GetBackend(p.ctx, &adminv1.GetBackendRequest{Fleet: fleet, Backend: backend})
	if err != nil {
		if status.Code(err) == codes.NotFound { // the fleet is there
			return fmt.Errorf("fleet %s has no backend %q, neither by name nor as namespace/service:port; berthctl backends lists them", fleet, backend)
		}
		return p.failure("show backend "+backend, err)
	}
	text := backendPage([]*adminv1.Backend{b.GetBackend()})
	text.gap()
	text.table(slotHeader, slotRows(b.GetSlots()))
	return r.show(format, b, text)
}
