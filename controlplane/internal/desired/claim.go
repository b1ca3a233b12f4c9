package desired

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Backend says where a route leads. The zero Backend answers 503: what should be there is missing, or closed.
type Backend struct {
	Name    string
	Service Ref
	Port    Port
	// Settings are what differs from the fleet's.
	Settings Settings
}

// Closed says that the backend answers 503.
func (b Backend) Closed() bool { return b.Name == "" }

// Reference is namespace/name:port of the service.
func (b Backend) Reference() string {
	if b.Closed() {
		return ""
	}
	return b.Service.String() + ":" + b.Port.String()
}

// World answers what an Ingress needs to know of other objects.
type World interface {
	// Service returns nil for a service that is not there.
	Service(Ref) *corev1.Service
	// Certificate returns the certificate in force of a secret, nil where it never was good, and why the secret as it stands is not accepted.
	Certificate(Ref) (*Certificate, error)
	// Policies returns the BackendPolicies that name a service.
	Policies(Ref) []*Policy
}

// Fleet is what a fleet adds to an Ingress.
type Fleet struct {
	Defaults Settings
	// Prefix stands in front of the names of a cluster's backends.
	Prefix func(cluster string) string
}

// Claims are what one Ingress lays claim to in one fleet.
type Claims struct {
	Ref Ref
	Age Age
	// Hosts by name; "" is any.
	Hosts map[string]*HostClaim
	// Certificates says which secret a server name is shown.
	Certificates map[string]Ref
	// Redirects has the hosts that stand under a tls entry, and whether requests for them on port 80 are redirected.
	Redirects map[string]bool
	// Fallback is what the Ingress offers to requests that nobody else wants.
	Fallback *Backend
	// Services and Secrets are what the claims depend on.
	Services, Secrets []Ref
	Notes             []Note
}

// HostClaim is what an Ingress claims of one host.
type HostClaim struct {
	Paths []Route
	// Default is where unmatched paths go, nil where the Ingress does not say.
	Default *Backend
}

// Route is where one match of one host leads, and who made it so.
type Route struct {
	Host    string
	Match   Match
	Path    string
	Backend Backend
	Ingress Ref
	// Split says that several backends share the requests, the Backend among them; nil where it has all.
	Split *Split
}

// Claim resolves an Ingress against the services and secrets that it names.
func Claim(ing *Ingress, fleet Fleet, world World) *Claims {
	c := &claimer{
		Claims:   &Claims{Ref: ing.Ref, Age: ing.Age, Hosts: map[string]*HostClaim{}, Notes: slices.Clone(ing.Notes)},
		ing:      ing,
		fleet:    fleet,
		world:    world,
		closed:   map[string]bool{},
		all:      ing.Refused,
		resolved: map[Target]Backend{},
	}
	for _, entry := range ing.TLS {
		c.protect(entry)
	}
	c.open()
	if ing.Default != nil {
		b := c.backend(*ing.Default, "the default backend")
		c.Fallback = &b
	}
	for _, r := range ing.Rules {
		c.claimHost(r)
	}
	c.claimClosed()
	if len(ing.Weights) > 0 && !c.weighed {
		c.Notes = append(c.Notes, warn(fmt.Sprintf("annotation berth.dev/weights has no effect: no path leads to service %s, which it names first", ing.Weights[0].Service)))
	}
	return c.Claims
}

type claimer struct {
	*Claims
	ing   *Ingress
	fleet Fleet
	world World
	// closed has the hosts whose protection was never good; all closes whatever the Ingress has.
	closed   map[string]bool
	all      bool
	resolved map[Target]Backend
	// weighed: the weights that are asked for share some path.
	weighed bool
}

// protect decides what becomes of the hosts under a tls entry.
func (c *claimer) protect(entry TLS) {
	names := c.ing.Names(entry)
	if len(names) == 0 && !entry.All {
		return // every host of it was left out, with a note
	}
	if entry.Secret == "" {
		c.Notes = append(c.Notes, warn(fmt.Sprintf("tls: the entry for %s names no secret; clients are shown the default certificate", list(names))))
		c.redirect(names)
		return
	}
	secret := Ref{c.ing.Ref.Cluster, c.ing.Ref.Namespace, entry.Secret}
	c.Secrets = appendOnce(c.Secrets, secret)
	cert, err := c.world.Certificate(secret)
	if cert == nil {
		c.close(entry, names, secret, err)
		return
	}
	c.noteCertificate(secret, cert, err)
	if bare := slices.DeleteFunc(slices.Clone(names), cert.ValidFor); len(bare) > 0 {
		c.Notes = append(c.Notes, warn(fmt.Sprintf("tls: the certificate of secret %s is not valid for %s; it is shown all the same, and clients will refuse it", secret, list(bare))))
	}
	for _, n := range names {
		if first, twice := c.Certificates[n]; twice && first != secret {
			c.Notes = append(c.Notes, warn(fmt.Sprintf("tls: two entries name %s; the certificate of secret %s is shown", n, first)))
			continue
		}
		if c.Certificates == nil {
			c.Certificates = map[string]Ref{}
		}
		c.Certificates[n] = secret
	}
	c.redirect(names)
}

func (c *claimer) noteCertificate(secret Ref, cert *Certificate, err error) {
	if err != nil {
		c.Notes = append(c.Notes, warn(fmt.Sprintf("tls: secret %s %s; the last good certificate stays in force", secret, err)))
	}
	expired := warn(fmt.Sprintf("tls: the certificate of secret %s expired at %s and is served all the same; renew it", secret, cert.NotAfter.UTC().Format(time.RFC3339)))
	expired.From = cert.NotAfter
	early := warn(fmt.Sprintf("tls: the certificate of secret %s is not valid before %s and is served all the same", secret, cert.NotBefore.UTC().Format(time.RFC3339)))
	early.Until = cert.NotBefore
	c.Notes = append(c.Notes, expired, early)
}

func (c *claimer) close(entry TLS, names []string, secret Ref, err error) {
	c.Notes = append(c.Notes, reject(fmt.Sprintf("tls: secret %s %s; until then %s answers 503 on both ports", secret, err, list(names))))
	c.all = c.all || entry.All
	for _, n := range c.covered(names) {
		c.closed[n] = true
	}
}

// covered are the names and the hosts of rules that their wildcards cover.
func (c *claimer) covered(names []string) []string {
	out := slices.Clone(names)
	for _, r := range c.ing.Rules {
		if slices.ContainsFunc(names, func(n string) bool { return Covers(n, r.Host) }) {
			out = append(out, r.Host)
		}
	}
	return out
}

func (c *claimer) redirect(names []string) {
	if c.Redirects == nil {
		c.Redirects = map[string]bool{}
	}
	for _, n := range c.covered(names) {
		c.Redirects[n] = c.ing.SSLRedirect
	}
}

// open takes back what another entry gave to a host that is closed.
func (c *claimer) open() {
	for host := range c.closed {
		delete(c.Redirects, host)
		delete(c.Certificates, host)
	}
}

func (c *claimer) claimHost(r Rule) {
	claim := &HostClaim{Default: c.Fallback}
	c.Hosts[r.Host] = claim
	shut := c.all || c.closed[r.Host]
	if shut {
		claim.Default = &Backend{}
	}
	claim.Paths = make([]Route, 0, len(r.Paths))
	for _, p := range r.Paths {
		route := Route{Host: r.Host, Match: p.Match, Path: p.Path, Ingress: c.ing.Ref}
		if b, split := c.lead(r.Host, p.Target, fmt.Sprintf("path %q of host %q", clip(p.Path), r.Host)); !shut {
			route.Backend, route.Split = b, split
		}
		claim.Paths = append(claim.Paths, route)
	}
}

// claimClosed claims what stands under a faulty tls entry and in no rule, so that it does not fall through to somebody else (WANT-4).
func (c *claimer) claimClosed() {
	for host := range c.closed {
		if c.Hosts[host] == nil {
			c.Hosts[host] = &HostClaim{Default: &Backend{}}
		}
	}
	if c.all && c.Fallback != nil {
		c.Fallback = &Backend{}
	}
}

// backend resolves a target once for all places that name it.
func (c *claimer) backend(t Target, place string) Backend {
	if b, ok := c.resolved[t]; ok {
		return b
	}
	ref := Ref{c.ing.Ref.Cluster, c.ing.Ref.Namespace, t.Service}
	var b Backend
	var port Port
	var err error
	if t.Fault == "" {
		c.Services = appendOnce(c.Services, ref)
		port, err = FindPort(c.world.Service(ref), ref, t)
	} else {
		_, err = FindPort(nil, ref, t)
	}
	if err != nil {
		c.Notes = append(c.Notes, warn(fmt.Sprintf("%s %s; it answers 503", place, err)))
	} else {
		settings := PolicySettings(PoliciesFor(ref, port, c.world.Policies(ref))).Under(c.ing.Settings).Under(port.Hint())
		overrides := settings.Over(c.fleet.Defaults)
		b = Backend{
			Name:     c.fleet.Prefix(ref.Cluster) + ref.Namespace + "_" + ref.Name + "_" + port.String() + overrides.Suffix(),
			Service:  ref,
			Port:     port,
			Settings: overrides,
		}
	}
	c.resolved[t] = b
	return b
}

func appendOnce(refs []Ref, ref Ref) []Ref {
	if slices.Contains(refs, ref) {
		return refs
	}
	return append(refs, ref)
}

// list names the first of some hosts, for a reason.
func list(names []string) string {
	const shown = 4
	switch {
	case len(names) == 0:
		return "whatever it serves"
	case len(names) > shown:
		return fmt.Sprintf("%s and %d more hosts", strings.Join(names[:shown], ", "), len(names)-shown)
	default:
		return strings.Join(names, ", ")
	}
}
