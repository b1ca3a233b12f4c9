package desired

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/berth-proxy/berth/api/v1alpha1"
)

// Policy is what one BackendPolicy asks for, judged by itself alone.
type Policy struct {
	Ref      Ref
	Age      Age
	Targets  []PolicyTarget
	Settings Settings
	Notes    []Note
}

// PolicyTarget is a service, or one port of it.
type PolicyTarget struct {
	Service Ref
	// Section is the port's name, empty for all ports.
	Section string
}

// PolicyNote is what is wrong with a policy in the light of others.
type PolicyNote struct {
	Policy Ref
	Note   Note
}

// ParsePolicy reads a BackendPolicy. Sources let no invalid one through; one that is there all the same says nothing (WANT-3).
func ParsePolicy(obj *v1alpha1.BackendPolicy, ref Ref, source int) *Policy {
	p := &Policy{Ref: ref, Age: Age{Created: obj.CreationTimestamp.Time, Ref: ref, Source: source}}
	if errs := obj.Validate(); len(errs) > 0 {
		p.Notes = append(p.Notes, reject(fmt.Sprintf("is not valid: %s; it has no effect", errs.ToAggregate())))
		return p
	}
	p.Settings = policySettings(&obj.Spec)
	for i := range obj.Spec.TargetRefs {
		t := &obj.Spec.TargetRefs[i]
		if t.Group != "" || t.Kind != "Service" {
			p.Notes = append(p.Notes, warn(fmt.Sprintf("targetRefs names the %s %s, which a BackendPolicy can say nothing about; name a Service of group \"\"",
				clip(strings.TrimLeft(t.Group+"/"+t.Kind, "/")), clip(t.Name))))
			continue
		}
		target := PolicyTarget{Ref{ref.Cluster, ref.Namespace, t.Name}, t.Section()}
		if !slices.Contains(p.Targets, target) {
			p.Targets = append(p.Targets, target)
		}
	}
	return p
}

// policySettings reads what the fields say. A group that is there says all of its fields: what it leaves out is the default, and not an annotation's.
func policySettings(spec *v1alpha1.BackendPolicySpec) Settings {
	s := Settings{
		Balance:        Balance(spec.Balance),
		TimeoutConnect: spec.Timeouts.Connect,
		TimeoutServer:  spec.Timeouts.Server,
		TimeoutQueue:   spec.Timeouts.Queue,
		SlotsMinimum:   int(deref(spec.Slots.Minimum, 0)),
		Protocol:       Protocol(spec.Protocol),
		MaxConnections: int(deref(spec.MaxConnectionsPerPod, 0)),
	}
	if a := spec.Affinity; a != nil {
		s.Affinity = AffinityNone
		if a.Cookie != nil {
			s.Affinity, s.CookieName, s.StickyDrain = AffinityCookie, a.Cookie.Name, StickyDrain(a.StickyDrain)
		}
	}
	if c := spec.Check; c != nil {
		s.Check, s.CheckInterval = Check{Kind: CheckNone}, c.Interval
		switch {
		case c.HTTP != nil:
			s.Check = Check{Kind: CheckHTTP, Path: c.HTTP.Path}
		case c.TCP != nil:
			s.Check.Kind = CheckTCP
		}
	}
	return s
}

// targets says whether a policy names the service with this section.
func (p *Policy) targets(service Ref, section string) bool {
	return slices.Contains(p.Targets, PolicyTarget{service, section})
}

// oldest finds the policy that counts for a target (WANT-2), nil where none names it.
func oldest(policies []*Policy, service Ref, section string) *Policy {
	var first *Policy
	for _, p := range policies {
		if p.targets(service, section) && (first == nil || p.Age.Compare(first.Age) < 0) {
			first = p
		}
	}
	return first
}

// PoliciesFor finds the policies that count for a service port among those that name the service: the one for the port stands over the one for the whole service.
func PoliciesFor(service Ref, port Port, policies []*Policy) []*Policy {
	var found []*Policy
	for _, section := range []string{port.String(), ""} {
		if p := oldest(policies, service, section); p != nil && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	return found
}

// PolicySettings is what policies say, the first of them over the next.
func PolicySettings(policies []*Policy) Settings {
	var s Settings
	for _, p := range policies {
		s = s.Under(p.Settings)
	}
	return s
}

// PolicyNotes says of the policies that name a service, which is nil where it is not there, what of them has no effect.
func PolicyNotes(service Ref, svc *corev1.Service, policies []*Policy) []PolicyNote {
	var notes []PolicyNote
	for _, p := range policies {
		for _, t := range p.Targets {
			if t.Service != service {
				continue
			}
			if reason := fault(t, svc, p, policies); reason != "" {
				notes = append(notes, PolicyNote{p.Ref, warn(reason)})
			}
		}
	}
	return notes
}

func fault(t PolicyTarget, svc *corev1.Service, p *Policy, policies []*Policy) string {
	what := "service " + t.Service.String()
	if t.Section != "" {
		what = fmt.Sprintf("port %q of %s", clip(t.Section), what)
	}
	if svc == nil {
		return fmt.Sprintf("is for the %s, which does not exist; it has no effect there", what)
	}
	if t.Section != "" && !slices.ContainsFunc(svc.Spec.Ports, func(port corev1.ServicePort) bool {
		return Port{Name: port.Name, Number: port.Port}.String() == t.Section && isTCP(port.Protocol)
	}) {
		return fmt.Sprintf("is for the %s, which has no such TCP port; it has no effect there", what)
	}
	if first := oldest(policies, t.Service, t.Section); first != p {
		return fmt.Sprintf("has no effect for the %s: BackendPolicy %s, which is older, is for it too; take it out of one of them", what, named(first.Ref, p.Ref))
	}
	return ""
}
