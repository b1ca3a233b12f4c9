package compile

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/v1alpha1"
	"github.com/berth-proxy/berth/controlplane/internal/desired"
)

type refSet = map[desired.Ref]struct{}

// claimants are those who lay claim to each of some names.
type claimants map[string]map[desired.Ref]*desired.Claims

func (x claimants) add(name string, c *desired.Claims) {
	if x[name] == nil {
		x[name] = map[desired.Ref]*desired.Claims{}
	}
	x[name][c.Ref] = c
}

func (x claimants) remove(name string, ref desired.Ref) {
	delete(x[name], ref)
	if len(x[name]) == 0 {
		delete(x, name)
	}
}

// dependents are the Ingresses that depend on an object.
type dependents map[desired.Ref]refSet

func (x dependents) add(on, who desired.Ref) {
	if x[on] == nil {
		x[on] = refSet{}
	}
	x[on][who] = struct{}{}
}

func (x dependents) remove(on, who desired.Ref) {
	delete(x[on], who)
	if len(x[on]) == 0 {
		delete(x, on)
	}
}

// fleet is what is compiled for one fleet. The compiler's mutex guards it.
type fleet struct {
	c        *Compiler
	name     string
	spec     v1alpha1.FleetSpec
	defaults desired.Settings

	// claims of each Ingress that the fleet serves, and who depends on what.
	claims    map[desired.Ref]*desired.Claims
	byService dependents
	bySecret  dependents

	hosts        claimants // by host
	certificates claimants // by server name
	redirects    claimants // by host
	fallbacks    map[desired.Ref]*desired.Claims

	// What the claims were merged to.
	routes     map[string]map[desired.Place]desired.Route // by host
	losses     map[lossOf][]desired.Loss
	serverName map[string]desired.Ref              // server name -> secret
	names      map[desired.Ref]map[string]struct{} // secret -> its server names
	fallback   *desired.Route

	backends  map[string]*backend
	live      int // how many backends are in the revision
	ofService map[desired.Ref]map[string]*backend
	slices    map[desired.Ref][]sliceNote // notes about the slices of a service

	revision *snapshot.Revision
	staged   map[snapshot.Key]snapshot.Resource // nil takes the key away
	refused  map[snapshot.Key]error             // resources that no revision can have
	dirty    dirty
}

// dirty is what has to be looked at again before the pass ends.
type dirty struct {
	spec         bool
	fallback     bool
	ingresses    refSet
	hosts        map[string]struct{}
	certificates map[string]struct{} // by server name
	redirects    map[string]struct{}
	secrets      refSet
	services     refSet
	backends     map[string]struct{}
}

func clean() dirty {
	return dirty{
		ingresses: refSet{}, hosts: map[string]struct{}{}, certificates: map[string]struct{}{}, redirects: map[string]struct{}{},
		secrets: refSet{}, services: refSet{}, backends: map[string]struct{}{},
	}
}

// any: all else becomes dirty by one of these.
func (d *dirty) any() bool { return d.spec || len(d.ingresses)+len(d.services)+len(d.secrets) > 0 }

func newFleet(c *Compiler, name string) *fleet {
	return &fleet{
		c:            c,
		name:         name,
		claims:       map[desired.Ref]*desired.Claims{},
		byService:    dependents{},
		bySecret:     dependents{},
		hosts:        claimants{},
		certificates: claimants{},
		redirects:    claimants{},
		fallbacks:    map[desired.Ref]*desired.Claims{},
		routes:       map[string]map[desired.Place]desired.Route{},
		losses:       map[lossOf][]desired.Loss{},
		serverName:   map[string]desired.Ref{},
		names:        map[desired.Ref]map[string]struct{}{},
		backends:     map[string]*backend{},
		ofService:    map[desired.Ref]map[string]*backend{},
		slices:       map[desired.Ref][]sliceNote{},
		revision:     snapshot.EmptyRevision(),
		staged:       map[snapshot.Key]snapshot.Resource{},
		refused:      map[snapshot.Key]error{},
		dirty:        clean(),
	}
}

func (f *fleet) setSpec(spec v1alpha1.FleetSpec) {
	f.spec = spec
	f.defaults = desired.FleetSettings(&spec)
	f.dirty.spec = true
	for name := range f.backends {
		f.dirty.backends[name] = struct{}{} // the slot policy
	}
}

// serviceChanged: who names the service has to resolve its port again, and its endpoints may count otherwise.
func (f *fleet) serviceChanged(ref desired.Ref) {
	for who := range f.byService[ref] {
		f.dirty.ingresses[who] = struct{}{}
	}
	f.endpointsChanged(ref)
}

func (f *fleet) endpointsChanged(service desired.Ref) {
	if len(f.ofService[service]) > 0 {
		f.dirty.services[service] = struct{}{}
	}
}

func (f *fleet) secretChanged(ref desired.Ref) {
	for who := range f.bySecret[ref] {
		f.dirty.ingresses[who] = struct{}{}
	}
	f.dirty.secrets[ref] = struct{}{}
}

// compile brings everything up to date that is dirty, in the order in which one thing depends on another.
func (f *fleet) compile(p *pass) (FleetChange, bool) {
	if !f.dirty.any() {
		return FleetChange{}, false
	}
	for ref := range f.dirty.ingresses {
		f.claim(p, ref)
	}
	for host := range f.dirty.hosts {
		f.mergeHost(host)
	}
	for name := range f.dirty.certificates {
		f.mergeCertificate(name)
	}
	for host := range f.dirty.redirects {
		f.mergeRedirect(host)
	}
	if f.dirty.fallback {
		f.mergeFallback()
	}
	for ref := range f.dirty.secrets {
		f.stageCertificate(ref)
	}
	if f.dirty.spec {
		f.stageSections()
	}
	fc := FleetChange{Fleet: f.name, Endpoints: map[string]Backend{}}
	f.settleBackends(p, &fc)
	fc.Revision = f.commit()
	f.dirty = clean()
	return fc, !fc.Revision.Empty() || len(fc.Endpoints) > 0
}

// stage puts a resource into the next revision; a nil one takes the key away.
func (f *fleet) stage(key snapshot.Key, r snapshot.Resource) { f.staged[key] = r }

// commit keeps of what was staged what differs from the revision so far (COMP-3), and applies it.
func (f *fleet) commit() snapshot.RevisionDelta {
	delta := snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{}}
	if len(f.staged) == 0 {
		return delta
	}
	for key, next := range f.staged {
		if next = f.checked(key, next); next == nil && f.revision.Get(key) == nil {
			continue
		}
		if old := f.revision.Get(key); !same(old, next) {
			delta.Changes[key] = next
		}
	}
	clear(f.staged)
	if !delta.Empty() {
		f.revision = f.revision.Apply(delta, snapshot.Version{})
	}
	return delta
}

// checked takes out what the protocol or the renderer would refuse, so that one such resource does not hold up all others. Objects are judged before;
// what is left are sums of them, such as more server names than one certificate can have.
func (f *fleet) checked(key snapshot.Key, r snapshot.Resource) snapshot.Resource {
	delete(f.refused, key)
	if r == nil {
		return nil
	}
	if err := snapshot.Check(r); err != nil {
		f.refused[key] = err
		return nil
	}
	return r
}

func same(a, b snapshot.Resource) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return snapshot.ResourceDigest(a) == snapshot.ResourceDigest(b)
}

// world answers the questions of a claim for one pass.
type world struct{ *pass }

func (w world) Service(ref desired.Ref) *corev1.Service {
	return w.read.Service(ref.Cluster, ref.Namespace, ref.Name)
}

func (w world) Certificate(ref desired.Ref) (*desired.Certificate, error) {
	s := w.c.secrets[ref]
	if s == nil {
		s = w.c.judge(w.pass, ref)
	}
	return s.cert, s.err
}
