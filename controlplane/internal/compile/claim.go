package compile

import (
	"maps"
	"slices"

	"github.com/berth-proxy/berth/controlplane/internal/desired"
)

// claim judges an Ingress again and marks what its old and new claims do not agree on.
func (f *fleet) claim(p *pass, ref desired.Ref) {
	ing := f.c.ingresses[ref]
	old := f.claims[ref]
	var next *desired.Claims
	if ing != nil && desired.Serves(&f.spec, f.c.classes[ref.Cluster], ing) {
		next = desired.Claim(ing, desired.Fleet{Defaults: f.defaults, Prefix: f.c.prefix}, world{p})
	}
	if old == nil && next == nil {
		return
	}
	f.replaceDependencies(p, ref, old, next)
	if next == nil {
		delete(f.claims, ref)
	} else {
		f.claims[ref] = next
	}
	f.replaceHosts(ref, old, next)
	f.replaceNames(ref, old, next)
	f.replaceFallback(ref, old, next)
}

func (f *fleet) replaceDependencies(p *pass, ref desired.Ref, old, next *desired.Claims) {
	if old != nil {
		for _, s := range old.Services {
			f.byService.remove(s, ref)
		}
		for _, s := range old.Secrets {
			f.bySecret.remove(s, ref)
			p.touched = append(p.touched, s)
		}
	}
	if next != nil {
		for _, s := range next.Services {
			f.byService.add(s, ref)
		}
		for _, s := range next.Secrets {
			f.bySecret.add(s, ref)
			f.dirty.secrets[s] = struct{}{} // its certificate may be another, or be used for the first time
		}
	}
}

// sameAge says whether two claims stand in the same place among others.
func sameAge(a, b *desired.Claims) bool { return a.Age.Compare(b.Age) == 0 }

func (f *fleet) replaceHosts(ref desired.Ref, old, next *desired.Claims) {
	if old != nil {
		for host, claim := range old.Hosts {
			if next == nil || next.Hosts[host] == nil {
				f.hosts.remove(host, ref)
				f.dirty.hosts[host] = struct{}{}
			} else if !sameAge(old, next) || !sameHost(claim, next.Hosts[host]) {
				f.dirty.hosts[host] = struct{}{}
			}
		}
	}
	if next == nil {
		return
	}
	for host := range next.Hosts {
		f.hosts.add(host, next)
		if old == nil || old.Hosts[host] == nil {
			f.dirty.hosts[host] = struct{}{}
		}
	}
}

func sameHost(a, b *desired.HostClaim) bool {
	if (a.Default == nil) != (b.Default == nil) || a.Default != nil && *a.Default != *b.Default {
		return false
	}
	return slices.EqualFunc(a.Paths, b.Paths, desired.Route.Equal)
}

// replaceNames does for server names and redirects what replaceHosts does for hosts.
func (f *fleet) replaceNames(ref desired.Ref, old, next *desired.Claims) {
	var none desired.Claims
	before, after := &none, &none
	if old != nil {
		before = old
	}
	if next != nil {
		after = next
	}
	if old != nil && next != nil && sameAge(old, next) && maps.Equal(old.Certificates, next.Certificates) && maps.Equal(old.Redirects, next.Redirects) {
		for name := range next.Certificates {
			f.certificates.add(name, next)
		}
		for host := range next.Redirects {
			f.redirects.add(host, next)
		}
		return
	}
	for name := range before.Certificates {
		f.certificates.remove(name, ref)
		f.dirty.certificates[name] = struct{}{}
	}
	for name := range after.Certificates {
		f.certificates.add(name, next)
		f.dirty.certificates[name] = struct{}{}
	}
	for host := range before.Redirects {
		f.redirects.remove(host, ref)
		f.dirty.redirects[host] = struct{}{}
	}
	for host := range after.Redirects {
		f.redirects.add(host, next)
		f.dirty.redirects[host] = struct{}{}
	}
}

func (f *fleet) replaceFallback(ref desired.Ref, old, next *desired.Claims) {
	if old != nil && old.Fallback != nil {
		delete(f.fallbacks, ref)
		f.dirty.fallback = true
	}
	if next != nil && next.Fallback != nil {
		f.fallbacks[ref] = next
		f.dirty.fallback = true
	}
}

// lossOf says over what an Ingress lost to another.
type lossOf struct {
	what byte // 'h' for a host's paths, 'c' for a server name's certificate, 'r' for a redirect, 'f' for the fleet's default backend
	name string
}

func (f *fleet) lose(of lossOf, losses []desired.Loss) {
	if len(losses) == 0 {
		delete(f.losses, of)
		return
	}
	f.losses[of] = losses
}

func (f *fleet) mergeHost(host string) {
	var routes map[desired.Place]desired.Route
	var losses []desired.Loss
	if claims := f.hosts[host]; len(claims) > 0 {
		routes, losses = desired.MergeHost(host, claims)
	}
	f.lose(lossOf{'h', host}, losses)
	old := f.routes[host]
	for _, r := range routes {
		eachBackend(r, f.use)
	}
	for _, r := range old {
		eachBackend(r, f.leave)
	}
	f.stageHost(host, old, routes)
	if routes == nil {
		delete(f.routes, host)
		return
	}
	f.routes[host] = routes
}

func (f *fleet) mergeCertificate(name string) {
	var secret desired.Ref
	var losses []desired.Loss
	if claims := f.certificates[name]; len(claims) > 0 {
		secret, losses = desired.MergeCertificate(name, claims)
	}
	f.lose(lossOf{'c', name}, losses)
	old := f.serverName[name]
	if old == secret {
		return
	}
	if old != (desired.Ref{}) {
		delete(f.names[old], name)
		if len(f.names[old]) == 0 {
			delete(f.names, old)
		}
		f.dirty.secrets[old] = struct{}{}
		delete(f.serverName, name)
	}
	if secret != (desired.Ref{}) {
		if f.names[secret] == nil {
			f.names[secret] = map[string]struct{}{}
		}
		f.names[secret][name] = struct{}{}
		f.dirty.secrets[secret] = struct{}{}
		f.serverName[name] = secret
	}
}

func (f *fleet) mergeRedirect(host string) {
	redirect, losses := false, []desired.Loss(nil)
	if claims := f.redirects[host]; len(claims) > 0 {
		redirect, losses = desired.MergeRedirect(host, claims)
	}
	f.lose(lossOf{'r', host}, losses)
	f.stageRedirect(host, redirect)
}

// mergeFallback finds the oldest default backend of the fleet.
func (f *fleet) mergeFallback() {
	oldest, losses := desired.MergeFallback(f.fallbacks)
	f.lose(lossOf{what: 'f'}, losses)
	var next *desired.Route
	if oldest != nil {
		next = &desired.Route{Match: desired.Default, Path: "/", Backend: *oldest.Fallback, Ingress: oldest.Ref}
		f.use(next.Backend)
	}
	if f.fallback != nil {
		f.leave(f.fallback.Backend)
	}
	f.fallback = next
	f.stageFallback()
}
