package soak

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/cluster/manifest"
	"github.com/berth-proxy/berth/tests/e2e/rig"
)

// A churn is what users do to the sources all the time: pods are replaced and scaled, routes and certificates change. Beacons are endpoints that change several times
// a second: how new a worker is can be read from its slots.
type churn struct {
	run         *Run
	deployments []*cluster.Deployment
	beacons     []*beacon
	// Beacons tick until the end of a storm; pods and routes change until shortly before (see Quiet).
	ticking, changing atomic.Bool

	// structure is what has been written of what needs reloads. One goroutine at a time changes it, which the mutex sees to.
	structuring sync.Mutex
	random      *rand.Rand
	structure   structure
}

// structure is what the routes are to be.
type structure struct {
	extra   map[string]bool // services' further hosts
	removed []string        // those that went, the newest last; older ones are forgotten, so that a calm takes no longer the longer a run is
	serial  string          // of the certificate
	added   int
}

const (
	// serveOn is how long a pod serves after it turned terminating: longer than a storm can keep the news from a node, and then for idle clients (P5).
	serveOn = Storm + 13*time.Second
	// tick is the time between two changes of the beacons.
	tick = 200 * time.Millisecond
	// extras bounds the routes that come and go.
	extras = 5
	// remembered is how many of those that went are looked at in a calm.
	remembered = 20
)

// replicas are of each service, at the least two more than one that a hand may disable.
const replicas = 4

func newChurn(r *Run, seed uint64) *churn {
	r.t.Helper()
	c := &churn{run: r, random: rand.New(rand.NewPCG(seed, 2)), structure: structure{extra: map[string]bool{}}}
	c.deployments = []*cluster.Deployment{r.Service("web", replicas), r.Service("api", replicas)}
	west, err := r.west.Deploy(context.Background(), cluster.Spec{Namespace: rig.Namespace, Name: "west"}, replicas)
	r.Must(err)
	c.deployments = append(c.deployments, west)
	r.Must(r.west.AddRoute(rig.Route("west")))
	for i, at := range []*cluster.Cluster{r.Cluster, r.Cluster, r.west, r.west} {
		b := &beacon{at: at, name: fmt.Sprintf("beacon-%d", i+1)}
		b.backend = rig.Namespace + "_" + b.name + "_80"
		if at == r.west {
			b.backend = "west." + b.backend
		}
		r.Must(at.Put(manifest.Service{
			Metadata: manifest.Meta{Namespace: rig.Namespace, Name: b.name},
			Spec:     manifest.ServiceSpec{Ports: []manifest.ServicePort{{Port: 80, TargetPort: 80}}},
		}))
		r.Must(b.tick())
		r.Must(at.AddRoute(rig.Route(b.name)))
		c.beacons = append(c.beacons, b)
	}
	r.Must(c.certificate())
	r.Must(r.AddRoute(cluster.Route{Namespace: rig.Namespace, Name: "secure", Host: secureHost, Service: "web", TLSSecret: "secure"}))
	return c
}

// start keeps changing until ctx ends.
func (c *churn) start(ctx context.Context) {
	c.run.follow(ctx)
	c.run.running.Go(func() {
		for wait(ctx, tick) {
			if c.ticking.Load() {
				c.must(ctx, c.ticks())
			}
		}
	})
	c.run.running.Go(func() {
		random := rand.New(rand.NewPCG(c.run.options.Seed, 3))
		for wait(ctx, time.Duration(1200+random.IntN(1300))*time.Millisecond) {
			if c.changing.Load() {
				c.must(ctx, c.structural())
			}
		}
	})
	for i, d := range c.deployments {
		random := rand.New(rand.NewPCG(c.run.options.Seed, 10+uint64(i)))
		c.run.running.Go(func() { c.move(ctx, d, random) })
	}
}

// must tells of a change that could not be written, unless the run ends.
func (c *churn) must(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		c.run.t.Errorf("change what is in the sources: %v", err)
	}
}

// move replaces a deployment's pods and scales it. What it has begun goes on beside it: pods serve for long after they were told to end.
func (c *churn) move(ctx context.Context, d *cluster.Deployment, random *rand.Rand) {
	var under sync.WaitGroup
	defer under.Wait()
	for wait(ctx, time.Duration(2000+random.IntN(3000))*time.Millisecond) {
		if !c.changing.Load() {
			continue
		}
		end := cluster.Ending{ServeOn: serveOn, Pause: time.Duration(random.IntN(500)) * time.Millisecond}
		n := replicas - 1 + random.IntN(4)
		if random.IntN(3) > 0 {
			under.Go(func() { c.must(ctx, d.RollingRestart(ctx, end)) })
		} else {
			under.Go(func() { c.must(ctx, d.Scale(ctx, n, end)) })
		}
	}
}

// A beacon is a service with one endpoint that nobody is sent to: its port says how new it is.
type beacon struct {
	at            *cluster.Cluster
	name, backend string

	mu  sync.Mutex // makes the newest the last one that is written
	now int
}

const (
	firstPort = 1024
	ports     = 60000
)

// tick changes the endpoint.
func (b *beacon) tick() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	yes := true
	b.now++
	return b.at.Put(manifest.EndpointSlice{
		Metadata:    manifest.Meta{Namespace: rig.Namespace, Name: b.name, Labels: map[string]string{"kubernetes.io/service-name": b.name}},
		AddressType: "IPv4",
		Ports:       []manifest.EndpointPort{{Port: firstPort + b.now%ports, Protocol: "TCP"}},
		Endpoints: []manifest.Endpoint{{
			Addresses: []string{fmt.Sprintf("127.250.%d.1", b.now/ports)}, Conditions: manifest.Conditions{Ready: &yes},
			TargetRef: &manifest.TargetRef{Kind: "Pod", Namespace: rig.Namespace, Name: fmt.Sprintf("%s-%d", b.name, b.now)},
		}},
	})
}

// written is the newest that was written.
func (b *beacon) written() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// ticks changes all beacons, as nearly at once as files can be.
func (c *churn) ticks() error {
	for _, b := range c.beacons {
		if err := b.tick(); err != nil {
			return err
		}
	}
	return nil
}

// structural makes a change that takes a reload on every node.
func (c *churn) structural() error {
	c.structuring.Lock()
	defer c.structuring.Unlock()
	s := &c.structure
	switch n := c.random.IntN(10); {
	case n < 2:
		return c.certificateLocked()
	case n < 6 && len(s.extra) < extras || len(s.extra) == 0:
		s.added++
		name := fmt.Sprintf("extra-%d", s.added)
		s.extra[name] = true
		return c.run.AddRoute(extraRoute(name, 40+c.random.IntN(20)))
	case n < 8:
		name := c.some()
		delete(s.extra, name)
		s.removed = append(s.removed, name)
		s.removed = s.removed[max(0, len(s.removed)-remembered):]
		return c.run.RemoveRoute(extraRoute(name, 1))
	}
	return c.run.AddRoute(extraRoute(c.some(), 40+c.random.IntN(20)))
}

// some is one of the extra routes, chosen by number: a map has no order that a seed could give again.
func (c *churn) some() string {
	for n := c.random.IntN(c.structure.added); ; n = (n + 1) % c.structure.added {
		if name := fmt.Sprintf("extra-%d", n+1); c.structure.extra[name] {
			return name
		}
	}
}

// extraRoute is a route of its own settings, so that it has a backend of its own.
func extraRoute(name string, seconds int) cluster.Route {
	route := rig.Route(name, "timeout-server", fmt.Sprintf("%ds", seconds))
	route.Service = "web"
	return route
}

// certificate writes a new certificate.
func (c *churn) certificate() error {
	c.structuring.Lock()
	defer c.structuring.Unlock()
	return c.certificateLocked()
}

func (c *churn) certificateLocked() error {
	secret, err := cluster.Certificate(rig.Namespace, "secure", secureHost)
	if err != nil {
		return err
	}
	serial, err := serialOf(secret.StringData["tls.crt"])
	if err != nil {
		return err
	}
	c.structure.serial = serial
	return c.run.Put(secret)
}

// wanted is a copy of what the routes are to be.
func (c *churn) wanted() structure {
	c.structuring.Lock()
	defer c.structuring.Unlock()
	s := c.structure
	s.extra, s.removed = maps.Clone(s.extra), slices.Clone(s.removed)
	return s
}
