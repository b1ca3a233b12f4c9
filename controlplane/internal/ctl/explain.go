package ctl

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/view"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

func (r *run) explainCommand() *cobra.Command {
	var dirs []string
	cmd := &cobra.Command{
		Use:   "explain URL [-f DIR …]",
		Short: "Follow one request: host, path, route, backend, slots, and the objects that made it so",
		Long: "explain follows a request for an http:// or https:// URL on its way through HAProxy, and says why it goes where it goes. With -f it tells\n" +
			"what would be made of the objects in directories.",
		Example: "  berthctl explain http://shop.example.com/cart\n  berthctl explain https://shop.example.com/ -f manifests -o json",
		Args:    one("a URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := r.format(asTable, asJSON)
			if err != nil {
				return err
			}
			if len(dirs) > 0 {
				return r.explainOffline(cmd.Context(), dirs, args[0], format)
			}
			return r.ask(cmd.Context(), func(p *plane) error { return r.explainOnline(p, args[0], format) })
		},
	}
	dirFlag(cmd, &dirs)
	return cmd
}

func (r *run) explainOffline(ctx context.Context, dirs []string, url, format string) error {
	w, err := load(ctx, dirs)
	if err != nil {
		return err
	}
	fleet, err := r.chooseFleet(w.compiler.Fleets())
	if err != nil {
		return errors.Join(err, w.fault())
	}
	x, err := w.compiler.Explain(fleet, url, w.state(fleet, snapshot.EmptyGeneration()).Generation)
	if errors.Is(err, compile.ErrURL) {
		return wrongUsage(err)
	}
	if err != nil {
		return err //nolint:wrapcheck // It names the URL.
	}
	if err := r.printExplanation(view.Explanation(x), format); err != nil {
		return err
	}
	return w.fault()
}

func (r *run) explainOnline(p *plane, url, format string) error {
	fleet, err := p.fleet(r)
	if err != nil {
		return err
	}
	x, err := p.Explain(p.ctx, &adminv1.ExplainRequest{Fleet: fleet, Url: url})
	if err != nil {
		return p.failure("explain "+url, err)
	}
	return r.printExplanation(x, format)
}

func (r *run) printExplanation(x *adminv1.ExplainResponse, format string) error {
	var p page
	p.table([]string{"URL", x.GetUrl()}, facts(x))
	if len(x.GetSlots()) > 0 {
		p.gap()
		p.table(slotHeader, slotRows(x.GetSlots()))
	}
	p.gap()
	p.line("Why:")
	for i, step := range x.GetSteps() {
		p.WriteString("  ")
		p.line("%d. %s", i+1, step)
	}
	if len(x.GetObjects()) > 0 {
		p.gap()
		p.line("Made so by:")
		for _, object := range x.GetObjects() {
			p.WriteString("  ")
			p.line("%s", object)
		}
	}
	return r.show(format, x, &p)
}

// facts are what an explanation says, without what does not apply.
func facts(x *adminv1.ExplainResponse) [][]string {
	outcome := "not known"
	switch x.GetOutcome() {
	case adminv1.Outcome_OUTCOME_BACKEND:
		outcome = "it is sent to a pod of backend " + x.GetBackend()
	case adminv1.Outcome_OUTCOME_REDIRECT:
		outcome = fmt.Sprintf("it is redirected with %d to %s", x.GetStatus(), x.GetLocation())
	case adminv1.Outcome_OUTCOME_STATUS:
		outcome = fmt.Sprintf("HAProxy answers it with %d", x.GetStatus())
	case adminv1.Outcome_OUTCOME_UNSPECIFIED:
	}
	host, path := x.GetHost(), ""
	if host == "" {
		host = "any"
	}
	if x.GetPath() != "" {
		path = fmt.Sprintf("%s (%s)", x.GetPath(), x.GetMatch())
	}
	rows := [][]string{{"OUTCOME", outcome}, {"HOST", host}}
	for _, fact := range [][]string{
		{"PATH", path}, {"BACKEND", x.GetBackend()}, {"SERVICE", x.GetService()}, {"CERTIFICATE", x.GetCertificate()},
	} {
		if fact[1] != "" {
			rows = append(rows, fact)
		}
	}
	return rows
}
