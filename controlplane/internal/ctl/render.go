package ctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/view"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

// dirFlag is the flag -f.
func dirFlag(cmd *cobra.Command, values *[]string) {
	cmd.Flags().StringSliceVarP(values, "dir", "f", nil,
		"[NAME=]DIR with Kubernetes YAML to read in place of asking a control plane; repeatable, the first is the home source")
}

func (r *run) renderCommand() *cobra.Command {
	var dirs []string
	var previous string
	cmd := &cobra.Command{
		Use:   "render [-f DIR …] [--previous FILE.json]",
		Short: "Print a fleet's whole wanted state: JSON, or the configuration of a node with default settings",
		Long: "render prints what the control plane wants of a fleet's nodes or, with -f, what it would make of the objects in directories.\n\n" +
			"-o json is for programs. -o haproxy is the configuration as a node with default settings writes it; the files beside haproxy.cfg stand\n" +
			"behind it as comments. Without --previous every endpoint is a newcomer; with it, endpoints keep the slots that an earlier -o json gave them.\n\n" +
			"The exit code is 0 also when objects are rejected, and 1 when a source cannot be read whole; what can be read is printed then, too.",
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := r.format(asJSON, asHAProxy)
			switch {
			case err != nil:
				return err
			case len(dirs) > 0:
				return r.renderOffline(cmd.Context(), dirs, previous, format)
			case previous != "":
				return misused("--previous is for directories: give -f DIR too")
			}
			return r.ask(cmd.Context(), func(p *plane) error { return r.renderOnline(p, format) })
		},
	}
	dirFlag(cmd, &dirs)
	cmd.Flags().StringVar(&previous, "previous", "", "output of an earlier render -o json, for the slots that endpoints keep; with -f only")
	return cmd
}

func (r *run) renderOffline(ctx context.Context, dirs []string, previous, format string) error {
	w, err := load(ctx, dirs)
	if err != nil {
		return err
	}
	fleet, unknown := r.chooseFleet(w.compiler.Fleets())
	if unknown != nil {
		if w.fault() == nil {
			return unknown
		}
		fleet = r.fleet // its object may be in what cannot be read
	}
	before, err := earlier(previous, fleet)
	if err != nil {
		return err
	}
	s := w.state(fleet, before)
	text := view.Of(s).JSON()
	if format == asHAProxy {
		if text, err = view.HAProxy(s.Revision, s.Generation); err != nil {
			return err //nolint:wrapcheck // It says what could not be written.
		}
	}
	if err := r.print(text); err != nil {
		return err
	}
	return errors.Join(unknown, w.fault())
}

// earlier are the slot tables of an earlier output.
func earlier(file, fleet string) (*snapshot.Generation, error) {
	if file == "" {
		return snapshot.EmptyGeneration(), nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // The caller's own file, read with the caller's rights.
	if err != nil {
		return nil, fmt.Errorf("read --previous: %w", err)
	}
	d, err := view.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read --previous %s: %w; give a file that render -o json wrote", file, err)
	}
	if d.Fleet != fleet {
		return nil, fmt.Errorf("read --previous %s: it is of fleet %q and not of %q; give the output for the same fleet", file, d.Fleet, fleet)
	}
	g, err := d.Generation()
	if err != nil {
		return nil, fmt.Errorf("read --previous %s: %w; give a file as render -o json wrote it", file, err)
	}
	return g, nil
}

func (r *run) renderOnline(p *plane, format string) error {
	fleet, err := p.fleet(r)
	if err != nil {
		return err
	}
	request := &adminv1.RenderRequest{Fleet: fleet, Format: adminv1.RenderFormat_RENDER_FORMAT_JSON}
	if format == asHAProxy {
		request.Format = adminv1.RenderFormat_RENDER_FORMAT_HAPROXY
	}
	doing := "render fleet " + fleet
	stream, err := p.Render(p.ctx, request)
	if err != nil {
		return p.failure(doing, err)
	}
	var text bytes.Buffer // whole or not at all: half a configuration looks like one
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return p.failure(doing, err)
		}
		text.WriteString(piece.GetText())
	}
	if err := r.print(text.Bytes()); err != nil {
		return err
	}
	sources, err := p.sources()
	if err != nil {
		return err
	}
	return faultOf(sources)
}
