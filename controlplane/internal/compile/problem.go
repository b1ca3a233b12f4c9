package compile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-proxy/berth/controlplane/internal/desired"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/store"
)

// Problem is an object of which not everything is in force, with the reasons.
type Problem struct {
	// Object is "Kind namespace/name", or where a document stands that does not say what it is.
	Object  string
	Cluster string
	State   desired.State
	// Reason says what is wrong and what to do; several are joined by "; ".
	Reason string
}

func (c *Compiler) takeReports(read store.Read, key source.Key) {
	reported := slices.Collect(read.ProblemsOf(key))
	if len(reported) == 0 {
		delete(c.reports, key)
		return
	}
	c.reports[key] = reported
}

func (c *Compiler) takeNameless(read store.Read, name string) {
	delete(c.nameless, name)
	for p := range read.Problems() {
		if p.Object.Kind == "" && p.Object.Cluster == name {
			c.nameless[name] = append(c.nameless[name], p)
		}
	}
}

// refused has the hosts that stay claimed by an Ingress that its source refused, and its class. Where it stands twice, under two classes, it may be of any.
func (c *Compiler) refused(key source.Key) (hosts []string, class string, anyClass bool) {
	for _, p := range c.reports[key] {
		if p.Severity != source.Rejected || len(p.Hosts) == 0 {
			continue
		}
		anyClass = anyClass || p.AnyClass || len(hosts) > 0 && p.Class != class
		hosts, class = append(hosts, p.Hosts...), p.Class
	}
	return hosts, class, anyClass
}

// Problems lists the objects of a fleet that are rejected or warned about, by state, object and cluster. What sources report about an object is shown by
// every fleet whose namespaces include it.
func (c *Compiler) Problems(fleet string) []Problem {
	c.mu.RLock()
	defer c.mu.RUnlock()
	f := c.fleets[fleet]
	if f == nil {
		return nil
	}
	g := gathering{}
	for _, claims := range f.claims {
		for _, n := range claims.Notes {
			if n.Holds(c.now()) {
				g.add("Ingress "+claims.Ref.String(), claims.Ref.Cluster, n)
			}
		}
	}
	for _, losses := range f.losses {
		for _, l := range losses {
			g.add("Ingress "+l.Ingress.String(), l.Ingress.Cluster, l.Note)
		}
	}
	for _, notes := range f.slices {
		for _, n := range notes {
			g.add("EndpointSlice "+n.slice.String(), n.slice.Cluster, n.note)
		}
	}
	for cluster, classes := range c.classes {
		for name, class := range classes {
			for _, n := range desired.ClassNotes(&f.spec, name, class) {
				g.add("IngressClass "+name, cluster, n)
			}
		}
	}
	for _, err := range f.refused {
		g.add("Fleet "+f.name, c.home, desired.Note{State: desired.Warned, Reason: err.Error() + "; it is left out"})
	}
	c.gatherFleet(f, g)
	c.gatherPolicies(f, g)
	c.gatherReports(f, g)
	return g.problems()
}

// gatherFleet warns of Fleet objects that another cluster's overrules.
func (c *Compiler) gatherFleet(f *fleet, g gathering) {
	rows := c.fleetRows[f.name]
	if len(rows) < 2 {
		return
	}
	first := c.firstCluster(rows)
	for cluster := range rows {
		if cluster != first {
			g.add("Fleet "+f.name, cluster, desired.Note{State: desired.Warned,
				Reason: fmt.Sprintf("source %s has a Fleet of the same name and stands earlier on the command line; that one counts", first)})
		}
	}
}

func (c *Compiler) gatherReports(f *fleet, g gathering) {
	for key, reported := range c.reports {
		if key.Namespace != "" && !f.spec.Namespaces.Matches(key.Namespace) {
			continue
		}
		for _, p := range reported {
			g.report(key.String(), key.Cluster, p)
		}
	}
	for name, reported := range c.nameless {
		for _, p := range reported {
			g.report(p.Place, name, p)
		}
	}
}

// maxReasons is how many reasons of one object are told: who has mended these sees the others.
const maxReasons = 10

// gathering collects the reasons for each object and state.
type gathering map[Problem][]string

func (g gathering) add(object, cluster string, n desired.Note) {
	key := Problem{Object: object, Cluster: cluster, State: n.State}
	g[key] = append(g[key], n.Reason)
}

func (g gathering) report(object, cluster string, p source.Problem) {
	n := desired.Note{State: desired.Warned, Reason: p.Reason}
	switch p.Severity {
	case source.Rejected:
		n.State = desired.Rejected
	case source.Warned:
	default:
		return
	}
	if p.Place != "" && p.Place != object {
		n.Reason = p.Place + ": " + p.Reason
	}
	g.add(object, cluster, n)
}

func (g gathering) problems() []Problem {
	list := make([]Problem, 0, len(g))
	for p, reasons := range g {
		slices.Sort(reasons)
		reasons = slices.Compact(reasons)
		if more := len(reasons) - maxReasons; more > 0 {
			reasons = append(reasons[:maxReasons:maxReasons], fmt.Sprintf("and %d more", more))
		}
		p.Reason = strings.Join(reasons, "; ")
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(b.State, a.State), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Cluster, b.Cluster))
	})
	return list
}

// Fleets lists the fleets.
func (c *Compiler) Fleets() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Sorted(maps.Keys(c.fleets))
}
