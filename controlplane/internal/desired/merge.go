package desired

import (
	"fmt"
	"maps"
	"slices"
)

// Place is where in a host a route stands.
type Place struct {
	Match Match
	Path  string
}

// Loss is what an Ingress did not get.
type Loss struct {
	Ingress Ref
	Note    Note
}

// sorted brings claims into the order in which they are served.
func sorted(claims map[Ref]*Claims) []*Claims {
	return slices.SortedFunc(maps.Values(claims), func(a, b *Claims) int { return a.Age.Compare(b.Age) })
}

// MergeHost merges what several Ingresses claim of one host (WANT-2). Of two that claim the same path the older one has it. Unmatched paths go to the
// oldest default backend among them, which is the route {Default, "/"}.
func MergeHost(host string, claims map[Ref]*Claims) (routes map[Place]Route, losses []Loss) {
	order := sorted(claims)
	routes = map[Place]Route{}
	for _, c := range order {
		for _, r := range c.Hosts[host].Paths {
			at := Place{r.Match, r.Path}
			if first, taken := routes[at]; taken {
				losses = append(losses, Loss{c.Ref, warn(fmt.Sprintf("%s path %q of host %q belongs to Ingress %s, which is older; take it out of one of them",
					r.Match, clip(r.Path), host, named(first.Ingress, c.Ref)))})
				continue
			}
			routes[at] = r
		}
	}
	for _, c := range order {
		if d := c.Hosts[host].Default; d != nil {
			routes[Place{Default, "/"}] = Route{Host: host, Match: Default, Path: "/", Backend: *d, Ingress: c.Ref}
			break
		}
	}
	return routes, losses
}

// named says the cluster too where it is another.
func named(ref, seenFrom Ref) string {
	if ref.Cluster == seenFrom.Cluster {
		return ref.String()
	}
	return ref.String() + " of cluster " + ref.Cluster
}

// MergeCertificate decides which secret a server name is shown: that of the oldest Ingress that names one for it.
func MergeCertificate(name string, claims map[Ref]*Claims) (secret Ref, losses []Loss) {
	var owner *Claims
	for _, c := range sorted(claims) {
		own, has := c.Certificates[name]
		switch {
		case !has:
		case owner == nil:
			owner, secret = c, own
		case own != secret:
			losses = append(losses, Loss{c.Ref, warn(fmt.Sprintf("tls: the certificate for %s is secret %s of Ingress %s, which is older",
				name, named(secret, own), named(owner.Ref, c.Ref)))})
		}
	}
	return secret, losses
}

// MergeFallback finds the oldest default backend of all. Of the younger ones those serve nothing that stand in an Ingress without rules; in another they
// serve what its hosts have no path for.
func MergeFallback(claims map[Ref]*Claims) (oldest *Claims, losses []Loss) {
	for _, c := range sorted(claims) {
		switch {
		case oldest == nil:
			oldest = c
		case len(c.Hosts) == 0:
			losses = append(losses, Loss{c.Ref, warn(fmt.Sprintf("its default backend is used by nobody: that of Ingress %s, which is older, is the fleet's; "+
				"give it a rule, or take it out of one of them", named(oldest.Ref, c.Ref)))})
		}
	}
	return oldest, losses
}

// MergeRedirect decides whether port 80 is redirected for a host: the oldest Ingress that has it under a tls entry says so.
func MergeRedirect(host string, claims map[Ref]*Claims) (redirect bool, losses []Loss) {
	var owner *Claims
	for _, c := range sorted(claims) {
		own, has := c.Redirects[host]
		switch {
		case !has:
		case owner == nil:
			owner, redirect = c, own
		case own != redirect:
			losses = append(losses, Loss{c.Ref, warn(fmt.Sprintf("annotation berth.dev/ssl-redirect has no effect for host %s: Ingress %s, which is older, says otherwise",
				host, named(owner.Ref, c.Ref)))})
		}
	}
	return redirect, losses
}
