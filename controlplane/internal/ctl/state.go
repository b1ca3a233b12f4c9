package ctl

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

func (r *run) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the fleets, the sources, and the objects that are rejected or warned",
		Long: "status shows each fleet with its versions and how many nodes have been read to have them, each source, and the objects that are rejected or\n" +
			"warned about. The exit code is 1 when a source cannot be read.",
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := r.format(asTable, asJSON)
			if err != nil {
				return err
			}
			return r.ask(cmd.Context(), func(p *plane) error { return r.status(p, format) })
		},
	}
}

// overview is what status shows.
type overview struct {
	fleets  []*adminv1.Fleet
	sources []*adminv1.Source
	objects map[string][]*adminv1.Object // by fleet
}

func (r *run) status(p *plane, format string) error {
	o, err := r.overview(p)
	if err != nil {
		return err
	}
	if format == asJSON {
		err = r.printOverview(o)
	} else {
		err = r.print(o.page().Bytes())
	}
	if err != nil {
		return err
	}
	return faultOf(o.sources)
}

func (r *run) overview(p *plane) (overview, error) {
	o := overview{objects: map[string][]*adminv1.Object{}}
	fleets, err := p.fleets()
	if err != nil {
		return o, err
	}
	if r.fleet != "" {
		if _, err := p.fleet(r); err != nil {
			return o, err
		}
	}
	if o.sources, err = p.sources(); err != nil {
		return o, err
	}
	for _, f := range fleets {
		if r.fleet != "" && f.GetName() != r.fleet {
			continue
		}
		o.fleets = append(o.fleets, f)
		if f.GetObjectsRejected()+f.GetObjectsWarned() == 0 {
			continue
		}
		if o.objects[f.GetName()], err = p.objects(f.GetName()); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (o overview) page() *page {
	var p page
	rows := make([][]string, len(o.fleets))
	for i, f := range o.fleets {
		rows[i] = []string{
			f.GetName(), nodesOf(f),
			applied(digest(f.GetRevision()), f.GetRevisionApplied(), f.GetNodes()), applied(version(f.GetGeneration()), f.GetGenerationApplied(), f.GetNodes()),
			fmt.Sprint(f.GetBackends()), fmt.Sprintf("%d ready, %d drain, %d free", f.GetSlotsReady(), f.GetSlotsDraining(), f.GetSlotsFree()),
			fmt.Sprintf("%d rejected, %d warned", f.GetObjectsRejected(), f.GetObjectsWarned()),
		}
	}
	p.table([]string{"FLEET", "NODES", "REVISION", "GENERATION", "BACKENDS", "SLOTS", "OBJECTS"}, rows)
	for _, f := range o.fleets {
		if f.GetWaiting() != "" {
			p.line("fleet %s waits: %s", f.GetName(), f.GetWaiting())
		}
	}
	p.gap()
	p.sources(o.sources)
	var objects [][]string
	for _, f := range o.fleets {
		for _, row := range objectRows(o.objects[f.GetName()]) {
			objects = append(objects, append([]string{f.GetName()}, row...))
		}
	}
	if len(objects) > 0 {
		p.gap()
		p.table(append([]string{"FLEET"}, objectHeader...), objects)
	}
	return &p
}

func nodesOf(f *adminv1.Fleet) string {
	text := fmt.Sprintf("%d of %d connected", f.GetNodesConnected(), f.GetNodes())
	if n := f.GetNodesRejected(); n > 0 {
		text += fmt.Sprintf(", %d rejected", n)
	}
	if n := f.GetNodesFailed(); n > 0 {
		text += fmt.Sprintf(", %d failed", n)
	}
	return text
}

func applied(what string, by, of uint32) string {
	if what == "" {
		return "none yet"
	}
	return fmt.Sprintf("%s on %d of %d", what, by, of)
}

// printOverview prints the messages under the names of the lists.
func (r *run) printOverview(o overview) error {
	answer := struct {
		Fleets  []json.RawMessage            `json:"fleets"`
		Sources []json.RawMessage            `json:"sources"`
		Objects map[string][]json.RawMessage `json:"objects"`
	}{[]json.RawMessage{}, []json.RawMessage{}, map[string][]json.RawMessage{}}
	var errs []error
	add := func(list []json.RawMessage, text json.RawMessage, err error) []json.RawMessage {
		errs = append(errs, err)
		return append(list, text)
	}
	for _, f := range o.fleets {
		text, err := compact(f)
		answer.Fleets = add(answer.Fleets, text, err)
		answer.Objects[f.GetName()] = []json.RawMessage{}
		for _, object := range o.objects[f.GetName()] {
			text, err := compact(object)
			answer.Objects[f.GetName()] = add(answer.Objects[f.GetName()], text, err)
		}
	}
	for _, s := range o.sources {
		text, err := compact(s)
		answer.Sources = add(answer.Sources, text, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("write the answer as JSON: %w", err)
	}
	return r.printIndented(text)
}

func (r *run) objectsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "objects", Short: "List the objects that are rejected or warned about, with the reasons"}
	return r.question(cmd, func(p *plane) (proto.Message, *page, error) {
		fleet, err := p.fleet(r)
		if err != nil {
			return nil, nil, err
		}
		objects, err := p.objects(fleet)
		var text page
		text.table(objectHeader, objectRows(objects))
		return &adminv1.ListObjectsResponse{Objects: objects}, &text, err
	})
}

func (p *plane) objects(fleet string) ([]*adminv1.Object, error) {
	var list []*adminv1.Object
	err := pages(func(token string) (string, error) {
		answer, err := p.ListObjects(p.ctx, &adminv1.ListObjectsRequest{Fleet: fleet, PageSize: pageSize, PageToken: token})
		if err != nil {
			return "", p.failure("list the objects of fleet "+fleet, err)
		}
		list = append(list, answer.GetObjects()...)
		return answer.GetNextPageToken(), nil
	})
	return list, err
}

var objectHeader = []string{"OBJECT", "STATE", "CLUSTER", "REASON"}

func objectRows(objects []*adminv1.Object) [][]string {
	rows := make([][]string, len(objects))
	for i, o := range objects {
		rows[i] = []string{o.GetObject(), word(o.GetState(), "OBJECT_STATE_"), o.GetCluster(), o.GetReason()}
	}
	return rows
}
