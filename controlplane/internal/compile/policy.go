package compile

import (
	"maps"
	"slices"

	"github.com/berth-proxy/berth/api/v1alpha1"
	"github.com/berth-proxy/berth/controlplane/internal/desired"
	"github.com/berth-proxy/berth/controlplane/internal/store"
)

// policies are the BackendPolicies of all clusters, which mean the same for every fleet. The compiler's mutex guards them.
type policies struct {
	parsed map[desired.Ref]*desired.Policy
	// of are those that name a service; notes what is wrong with them there.
	of    dependents
	notes map[desired.Ref][]desired.PolicyNote
}

func newPolicies() policies {
	return policies{parsed: map[desired.Ref]*desired.Policy{}, of: dependents{}, notes: map[desired.Ref][]desired.PolicyNote{}}
}

// naming lists the policies that name a service, by their names.
func (x *policies) naming(service desired.Ref) []*desired.Policy {
	refs := x.of[service]
	if len(refs) == 0 {
		return nil
	}
	list := make([]*desired.Policy, 0, len(refs))
	for ref := range refs {
		list = append(list, x.parsed[ref])
	}
	slices.SortFunc(list, func(a, b *desired.Policy) int { return a.Age.Compare(b.Age) })
	return list
}

// takePolicy notes what a policy says now. Whoever routes to a service that it names or named is judged anew.
func (c *Compiler) takePolicy(p *pass, ref desired.Ref, change *store.Change) {
	touched := refSet{}
	if old := c.policies.parsed[ref]; old != nil {
		for _, t := range old.Targets {
			c.policies.of.remove(t.Service, ref)
			touched[t.Service] = struct{}{}
		}
		delete(c.policies.parsed, ref)
	}
	if obj, exists := change.After.(*v1alpha1.BackendPolicy); exists {
		next := desired.ParsePolicy(obj, ref, c.place(ref.Cluster))
		c.policies.parsed[ref] = next
		for _, t := range next.Targets {
			c.policies.of.add(t.Service, ref)
			touched[t.Service] = struct{}{}
		}
	}
	for service := range touched {
		p.policed[service] = struct{}{}
		for _, f := range c.fleets {
			f.policyChanged(service)
		}
	}
}

// judgePolicies says what is wrong with the policies of the services that were looked at.
func (c *Compiler) judgePolicies(p *pass) {
	for service := range p.policed {
		if notes := desired.PolicyNotes(service, world{p}.Service(service), c.policies.naming(service)); len(notes) > 0 {
			c.policies.notes[service] = notes
		} else {
			delete(c.policies.notes, service)
		}
	}
}

// gatherPolicies tells of the policies of the namespaces that a fleet serves.
func (c *Compiler) gatherPolicies(f *fleet, g gathering) {
	for ref, p := range c.policies.parsed {
		for _, n := range p.Notes {
			if f.spec.Namespaces.Matches(ref.Namespace) {
				g.add("BackendPolicy "+ref.String(), ref.Cluster, n)
			}
		}
	}
	for _, notes := range c.policies.notes {
		for _, n := range notes {
			if f.spec.Namespaces.Matches(n.Policy.Namespace) {
				g.add("BackendPolicy "+n.Policy.String(), n.Policy.Cluster, n.Note)
			}
		}
	}
}

// policyChanged: who names the service has other settings for it.
func (f *fleet) policyChanged(service desired.Ref) {
	maps.Copy(f.dirty.ingresses, f.byService[service])
}

// policyObjects names the policies that made a backend what it is.
func (c *Compiler) policyObjects(b desired.Backend) (objects []string) {
	for _, p := range desired.PoliciesFor(b.Service, b.Port, c.policies.naming(b.Service)) {
		objects = append(objects, "BackendPolicy "+p.Ref.String())
	}
	return objects
}

func (w world) Policies(service desired.Ref) []*desired.Policy { return w.c.policies.naming(service) }
