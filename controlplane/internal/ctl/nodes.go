package ctl

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

func (r *run) nodesCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "nodes", Short: "List the nodes: state, versions, reloads, and what stands in their way"}
	return r.question(cmd, func(p *plane) (proto.Message, *page, error) {
		nodes, err := p.nodes(r.fleet)
		return &adminv1.ListNodesResponse{Nodes: nodes}, nodePage(nodes), err
	})
}

func (p *plane) nodes(fleet string) ([]*adminv1.Node, error) {
	var list []*adminv1.Node
	err := pages(func(token string) (string, error) {
		answer, err := p.ListNodes(p.ctx, &adminv1.ListNodesRequest{Fleet: fleet, PageSize: pageSize, PageToken: token})
		if err != nil {
			return "", p.failure("list the nodes", err)
		}
		list = append(list, answer.GetNodes()...)
		return answer.GetNextPageToken(), nil
	})
	return list, err
}

func nodePage(nodes []*adminv1.Node) *page {
	var p page
	rows := make([][]string, len(nodes))
	for i, n := range nodes {
		latency := ""
		if n.GetLastLatency() != nil {
			latency = n.GetLastLatency().AsDuration().Round(10 * time.Microsecond).String()
		}
		rows[i] = []string{
			n.GetName(), n.GetFleet(), nodeState(n), n.GetHaproxyVersion(), digest(n.GetRevision()), version(n.GetGeneration()), fmt.Sprint(n.GetLag()),
			fmt.Sprint(n.GetReloads()), fmt.Sprint(n.GetOldWorkers()), latency, trouble(n.GetCode(), n.GetMessage()),
		}
	}
	p.table([]string{
		"NODE", "FLEET", "STATE", "HAPROXY", "REVISION", "GENERATION", "BEHIND", "RELOADS", "OLD WORKERS", "LATENCY", "TROUBLE",
	}, rows)
	var excepted [][]string
	for _, n := range nodes {
		for _, e := range n.GetExcepted() {
			excepted = append(excepted, []string{n.GetName(), n.GetFleet(), e.GetBackend(), fmt.Sprint(e.GetSlot()), trouble(e.GetCode(), e.GetMessage())})
		}
	}
	if len(excepted) > 0 {
		p.gap()
		p.table([]string{"NODE", "FLEET", "BACKEND", "SLOT", "WHY IT IS LEFT FREE"}, excepted)
	}
	for _, n := range nodes {
		if more := int(n.GetExceptedTotal()) - len(n.GetExcepted()); more > 0 {
			p.line("node %s of fleet %s: and %d more slots", n.GetName(), n.GetFleet(), more)
		}
	}
	return &p
}

func nodeState(n *adminv1.Node) string {
	state := word(n.GetState(), "NODE_STATE_")
	if n.GetDirty() {
		state += ", dirty"
	}
	return state
}

func trouble(code, message string) string {
	return strings.Trim(code+": "+message, ": ")
}

func (r *run) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff NODE",
		Short: "Compare what the plane wants with what a node's running worker answers now",
		Long: "diff asks a node's running worker what it has and compares it with what the control plane wants. The exit code is 3 when they differ, which may\n" +
			"be a change on its way. --fleet is needed when several fleets have a node of that name.",
		Args: one("a node"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := r.format(asTable, asJSON)
			if err != nil {
				return err
			}
			return r.ask(cmd.Context(), func(p *plane) error { return r.diff(p, args[0], format) })
		},
	}
}

func (r *run) diff(p *plane, node, format string) error {
	d, err := p.DiffNode(p.ctx, &adminv1.DiffNodeRequest{Fleet: r.fleet, Node: node})
	if err != nil {
		if status.Code(err) == codes.NotFound && !p.connected(r.fleet, node) {
			return fmt.Errorf("no node %q has connected; berthctl nodes lists those that have", node)
		}
		return p.failure("compare node "+node, err)
	}
	if err := r.show(format, d, diffPage(node, d)); err != nil {
		return err
	}
	if !d.GetEqual() {
		return errDifferent
	}
	return nil
}

// connected says whether the plane has heard of the node.
func (p *plane) connected(fleet, node string) bool {
	nodes, err := p.nodes(fleet)
	return err == nil && slices.ContainsFunc(nodes, func(n *adminv1.Node) bool { return n.GetName() == node })
}

func diffPage(node string, d *adminv1.DiffNodeResponse) *page {
	var p page
	p.table([]string{"WHO", "REVISION", "GENERATION"}, [][]string{
		{"the plane wants", digest(d.GetWantedRevision()), digest(d.GetWantedGeneration())},
		{node + " has", digest(d.GetAppliedRevision()), digest(d.GetAppliedGeneration())},
	})
	p.gap()
	if d.GetWantedGeneration().GetNumber() == 0 {
		p.line("Nothing was compared: nothing has been published yet; berthctl status says why.")
		return &p
	}
	if d.GetEqual() {
		p.line("The worker has what is wanted: %d servers were compared.", d.GetServersCompared())
		return &p
	}
	rows := make([][]string, len(d.GetDifferences()))
	for i, x := range d.GetDifferences() {
		slot := "all"
		if x.GetSlot() != 0 {
			slot = fmt.Sprint(x.GetSlot())
		}
		rows[i] = []string{x.GetBackend(), slot, x.GetWanted(), x.GetWorker()}
	}
	if len(rows) > 0 {
		p.table([]string{"BACKEND", "SLOT", "WANTED", "WORKER"}, rows)
		p.gap()
	}
	more := ""
	if total := int(d.GetDifferencesTotal()); total > len(rows) {
		more = fmt.Sprintf(", of which %d are shown", len(rows))
	}
	p.line("The worker differs in %d places%s; %d servers were compared.", d.GetDifferencesTotal(), more, d.GetServersCompared())
	return &p
}
