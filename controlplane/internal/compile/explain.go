package compile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/desired"
	"github.com/berth-proxy/berth/controlplane/internal/explain"
)

// Explanation tells a request's way and who made it so.
type Explanation struct {
	URL     string
	Outcome explain.Outcome
	// Status is what HAProxy itself answers, or 0; Location is where a redirect leads.
	Status   int
	Location string
	// Host is the rule that owns the request: a name, "*.name" or "" for any. Path and Match are the path rule's.
	Host, Path, Match string
	// Backend is the backend's name, Service namespace/name:port, Slots those of its slots that are not free.
	Backend, Service, Cluster string
	Slots                     []ExplainedSlot
	Steps                     []string
	// Objects made it so: "Kind namespace/name".
	Objects []string
	// Certificate is what an HTTPS client is shown: the Secret as namespace/name, or "default". Empty without TLS.
	Certificate string
}

// ExplainedSlot is a slot that is not free. Number counts from 1.
type ExplainedSlot struct {
	Number int
	snapshot.Slot
}

// What Explain cannot do.
var (
	// ErrUnknownFleet: there is no fleet of that name.
	ErrUnknownFleet = errors.New("there is no such fleet")
	// ErrURL: the URL is none that a client could send.
	ErrURL = errors.New("it must start with http:// or https://, with white space and control characters written as %XX")
)

// Explain follows a request for an http or https URL. gen has the slots; without it nothing is said of them.
func (c *Compiler) Explain(fleet, url string, gen *snapshot.Generation) (Explanation, error) {
	req, err := parseURL(url)
	if err != nil {
		return Explanation{}, fmt.Errorf("explain %q: %w", url, err)
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	f := c.fleets[fleet]
	if f == nil {
		return Explanation{}, fmt.Errorf("explain %q in fleet %q: %w", url, fleet, ErrUnknownFleet)
	}
	a := explain.Walk(f.revision, req)
	x := Explanation{URL: url, Outcome: a.Outcome, Status: a.Status, Location: a.Location, Host: a.Owner, Steps: a.Steps}
	if x.Host == explain.AnyHost {
		x.Host = ""
	}
	if a.Outcome == explain.Redirected {
		f.explainRedirect(&x, a)
	} else {
		f.explainRoute(&x, a)
	}
	f.explainTLS(&x, a, req)
	if a.Outcome == explain.ToBackend && gen != nil {
		explainSlots(&x, gen.Table(x.Backend))
	}
	return x, nil
}

// parseURL takes the URL apart without making it prettier: what is looked up is what the client sends.
func parseURL(url string) (explain.Request, error) {
	req := explain.Request{}
	rest, plain := strings.CutPrefix(url, "http://")
	if !plain {
		if rest, req.TLS = strings.CutPrefix(url, "https://"); !req.TLS {
			return req, ErrURL
		}
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	req.Host, req.Target = rest[:end], rest[end:]
	if i := strings.IndexByte(req.Target, '#'); i >= 0 {
		req.Target = req.Target[:i]
	}
	if !strings.HasPrefix(req.Target, "/") {
		req.Target = "/" + req.Target
	}
	if strings.ContainsFunc(url, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return req, ErrURL
	}
	return req, nil
}

// explainRedirect names the Ingress that has the host under a tls entry.
func (f *fleet) explainRedirect(x *Explanation, a explain.Answer) {
	claims := f.redirects[a.Host]
	if len(claims) == 0 {
		claims = f.redirects[a.Owner]
	}
	var oldest *desired.Claims
	for _, c := range claims {
		if oldest == nil || c.Age.Compare(oldest.Age) < 0 {
			oldest = c
		}
	}
	if oldest != nil {
		x.Cluster = oldest.Ref.Cluster
		x.Objects = append(x.Objects, "Ingress "+oldest.Ref.String())
	}
}

// explainRoute names the objects behind the entry that was found.
func (f *fleet) explainRoute(x *Explanation, a explain.Answer) {
	route, found := f.routeOf(x.Host, a)
	if !found {
		return
	}
	x.Path, x.Match = route.Path, route.Match.String()
	x.Backend, x.Cluster = a.Backend, route.Ingress.Cluster
	x.Objects = append(x.Objects, "Ingress "+route.Ingress.String())
	eachBackend(route, func(b desired.Backend) {
		if target(b) == a.Backend {
			x.Service = b.Reference()
		}
		if !b.Closed() {
			for _, object := range append([]string{"Service " + b.Service.String()}, f.c.policyObjects(b)...) {
				if !slices.Contains(x.Objects, object) { // several shares may have one policy
					x.Objects = append(x.Objects, object)
				}
			}
		}
	})
}

func (f *fleet) routeOf(host string, a explain.Answer) (desired.Route, bool) {
	at := desired.Place{Match: desired.Exact, Path: a.Path}
	switch a.Map {
	case explain.Exact:
	case explain.Prefix:
		at.Match = desired.Prefix
	case explain.Fallback:
		return *f.fallback, true
	default:
		return desired.Route{}, false
	}
	r, found := f.routes[host][at]
	if !found {
		r, found = f.routes[host][desired.Place{Match: desired.Default, Path: "/"}]
	}
	return r, found
}

// explainTLS says which certificate is shown: that of the server name, else that of its wildcard, else the default one.
func (f *fleet) explainTLS(x *Explanation, a explain.Answer, req explain.Request) {
	if !req.TLS {
		return
	}
	name := a.Host
	secret, found := f.serverName[name]
	if !found {
		if i := strings.IndexByte(name, '.'); i >= 0 {
			secret, found = f.serverName["*"+name[i:]]
		}
	}
	if !found {
		x.Certificate = "default"
		x.Steps = append(x.Steps, "no certificate is for this host: the default one is shown")
		return
	}
	x.Certificate = secret.String()
	x.Objects = append(x.Objects, "Secret "+secret.String())
	x.Steps = append(x.Steps, "the certificate is that of Secret "+secret.String())
}

func explainSlots(x *Explanation, table *snapshot.Table) {
	ready := 0
	if table != nil {
		for i, s := range table.Slots {
			if s.State == snapshot.Free {
				continue
			}
			x.Slots = append(x.Slots, ExplainedSlot{Number: i + 1, Slot: s})
			if s.State == snapshot.Ready {
				ready++
			}
		}
	}
	if ready > 0 {
		x.Steps = append(x.Steps, fmt.Sprintf("%d of its slots take traffic", ready))
		return
	}
	x.Outcome, x.Status = explain.Answered, 503
	x.Steps = append(x.Steps, "no slot of it takes traffic: 503")
}
