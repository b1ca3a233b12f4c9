package ctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

func (r *run) watchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch",
		Short: "Tell what happens, one event a line, the present state first; ctrl-C ends it",
		Long: "watch prints the present state of each fleet and node, and then every change as it happens, until it is interrupted. With -o json each line is\n" +
			"one JSON object.",
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := r.format(asTable, asJSON)
			if err != nil {
				return err
			}
			return r.follow(cmd.Context(), func(p *plane) error { return r.watch(p, format) })
		},
	}
}

func (r *run) watch(p *plane, format string) error {
	stream, err := p.Watch(p.ctx, &adminv1.WatchRequest{Fleet: r.fleet})
	for err == nil {
		var event *adminv1.WatchResponse
		if event, err = stream.Recv(); err == nil {
			err = r.printEvent(event, format)
		}
	}
	switch {
	case errors.Is(p.ctx.Err(), context.Canceled):
		return nil // it is how a watch ends
	case errors.Is(err, io.EOF):
		return fmt.Errorf("watch: the control plane at %s has ended; watch again when it is back", p.address)
	default:
		return p.failure("watch", err)
	}
}

func (r *run) printEvent(event *adminv1.WatchResponse, format string) error {
	if format == asJSON {
		text, err := compact(event)
		if err != nil {
			return err
		}
		return r.print(append(text, '\n'))
	}
	var p page
	p.line("%s  %s", event.GetTime().AsTime().Format(time.RFC3339), eventText(event))
	return r.print(p.Bytes())
}

func eventText(event *adminv1.WatchResponse) string {
	switch e := event.GetEvent().(type) {
	case *adminv1.WatchResponse_FleetChanged:
		return fleetText(e.FleetChanged)
	case *adminv1.WatchResponse_NodeChanged:
		return nodeText(e.NodeChanged)
	case *adminv1.WatchResponse_SourceChanged:
		return sourceText(e.SourceChanged)
	case *adminv1.WatchResponse_ObjectChanged:
		o := e.ObjectChanged
		about := fmt.Sprintf("fleet %s: %s of cluster %s: ", event.GetFleet(), o.GetObject(), o.GetCluster())
		if o.GetState() == adminv1.ObjectState_OBJECT_STATE_UNSPECIFIED {
			return about + "all of it is in force"
		}
		return about + word(o.GetState(), "OBJECT_STATE_") + ": " + o.GetReason()
	default:
		return "something that this berthctl does not know; take one of the plane's version"
	}
}

func fleetText(f *adminv1.Fleet) string {
	text := fmt.Sprintf("fleet %s: revision %s, generation %s; nodes: %s; slots: %d ready, %d drain, %d free", f.GetName(),
		applied(version(f.GetRevision()), f.GetRevisionApplied(), f.GetNodes()), applied(version(f.GetGeneration()), f.GetGenerationApplied(), f.GetNodes()),
		nodesOf(f), f.GetSlotsReady(), f.GetSlotsDraining(), f.GetSlotsFree())
	if n := f.GetObjectsRejected() + f.GetObjectsWarned(); n > 0 {
		text += fmt.Sprintf("; objects: %d rejected, %d warned", f.GetObjectsRejected(), f.GetObjectsWarned())
	}
	if f.GetWaiting() != "" {
		text += "; waits: " + f.GetWaiting()
	}
	return text
}

func nodeText(n *adminv1.Node) string {
	text := fmt.Sprintf("node %s of fleet %s: %s", n.GetName(), n.GetFleet(), nodeState(n))
	if v := version(n.GetGeneration()); v != "" {
		text += fmt.Sprintf(", revision %s, generation %s, %d reloads", version(n.GetRevision()), v, n.GetReloads())
	}
	if t := trouble(n.GetCode(), n.GetMessage()); t != "" {
		text += "; " + t
	}
	return text
}
