package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/cluster/manifest"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/loadgen"
)

// Options says how the demo is shown.
type Options struct {
	Out io.Writer
	// Live redraws the display in place, which Out must be a terminal for; otherwise it is printed now and then.
	Live bool
	// Keep stays up after the verdict until the context ends.
	Keep bool
}

// errInterrupted is what ends the demo early.
var errInterrupted = errors.New("interrupted before the verdict")

// rate is the load of each fleet, in requests a second.
const rate = 150

// serveOn is how long a pod serves after it turned terminating: keep-alive and a second.
const serveOn = 6 * time.Second

// Run plays the demo. Its error is the verdict.
func Run(ctx context.Context, o Options) error {
	verdict := errInterrupted
	err := harness.Perform(o.Out, func(s *harness.Stage) {
		d := raise(s, o)
		show := newScreen(d, o)
		stop := d.start(ctx, show)
		err := d.play(ctx, show)
		stop()
		if err != nil && ctx.Err() != nil {
			return
		}
		verdict = d.judge(err)
		if o.Keep {
			d.keep(ctx)
		}
	})
	return errors.Join(verdict, err)
}

// A fleet is one of the demo's fleets with its load.
type fleet struct {
	name      string
	nodes     []*rig.Node
	generator *loadgen.Generator
}

type demo struct {
	*rig.Rig
	stage  *harness.Stage
	out    io.Writer
	fleets []*fleet
	began  time.Time
	// first is how often each node had a new worker before the demo began.
	first map[string]uint64
	// Of what the deployments are made.
	web, api, admin *cluster.Deployment
}

// raise starts everything and returns when every node serves.
func raise(s *harness.Stage, o Options) *demo {
	s.Logf("Starting a control plane, two fleets of two HAProxies with their agents, and six pods …")
	d := &demo{stage: s, out: o.Out, began: time.Now(), first: map[string]uint64{}}
	// Two versions of HAProxy, where there are two.
	d.Rig = rig.New(s, rig.Options{
		Cluster: cluster.Options{Processes: true},
		Fleets: []rig.Fleet{
			{Name: "edge", HAProxy: harness.NewHAProxy(s), Nodes: 2, Spec: manifest.FleetSpec{IngressClasses: []string{"edge"}}},
			{Name: "internal", HAProxy: harness.OldHAProxy(s), Nodes: 2, Spec: manifest.FleetSpec{IngressClasses: []string{"internal"}}},
		},
	})
	d.web, d.api, d.admin = d.deploy("web", 3), d.deploy("api", 2), d.deploy("admin", 1)
	for _, r := range []cluster.Route{route("edge", "web", "web"), route("edge", "api", "api"), route("internal", "web", "web"), route("internal", "admin", "admin")} {
		d.Must(d.AddRoute(r))
	}
	for _, name := range []string{"edge", "internal"} {
		f := &fleet{name: name}
		for _, n := range d.Nodes {
			if n.Fleet == name {
				f.nodes = append(f.nodes, n)
			}
		}
		d.fleets = append(d.fleets, f)
	}
	d.load(d.fleets[0], sends("edge", "web", "web"), sends("edge", "api", "api"))
	d.load(d.fleets[1], sends("internal", "web", "web"), sends("internal", "admin", "admin"))
	d.WaitCurrent()
	for _, f := range d.fleets {
		d.Must(d.served(f.name, "web", "/", "web"))
	}
	d.Must(d.served("edge", "api", "/", "api"))
	d.Must(d.served("internal", "admin", "/", "admin"))
	for _, f := range d.fleets {
		d.Must(settled(f))
		s.Logf("Fleet %s: HAProxy %s at %s and %s", f.name, f.nodes[0].HAProxy.Version, f.nodes[0].HTTP(), f.nodes[1].HTTP())
	}
	s.Logf("'old' are workers that finish what they have; 'applied' is the time from the last change of a file to its being read back from the worker.\n")
	nodes, err := d.Ask()
	d.Must(err)
	for name, n := range nodes {
		d.first[name] = n.GetReloads()
	}
	return d
}

func (d *demo) deploy(name string, replicas int) *cluster.Deployment {
	deployment, err := d.Deploy(context.Background(), cluster.Spec{Namespace: rig.Namespace, Name: name}, replicas)
	d.Must(err)
	return deployment
}

func host(class, name string) string {
	if class == "internal" {
		return name + ".internal"
	}
	return name + ".example.com"
}

// route leads a host of a class to a service.
func route(class, name, service string) cluster.Route {
	return cluster.Route{Namespace: rig.Namespace, Name: class + "-" + name, Host: host(class, name), Service: service, Class: class}
}

// sends is the request that a route is used by.
func sends(class, name, service string) loadgen.Route {
	return loadgen.Route{Host: host(class, name), Service: rig.Namespace + "/" + service}
}

func (d *demo) load(f *fleet, routes ...loadgen.Route) {
	c := loadgen.Config{Rate: rate, Loads: loadgen.Mix(1), Routes: routes}
	for _, n := range f.nodes {
		c.Targets = append(c.Targets, loadgen.Target{Name: n.Node, Address: n.HTTP()})
	}
	g, err := loadgen.New(c)
	d.Must(err)
	f.generator = g
}

// start sends the loads and draws the screen until the returned function is called, which waits for their ends.
func (d *demo) start(ctx context.Context, show *screen) (stop func()) {
	// What runs is not ended by ctx, for an interrupted demo still ends in order.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var beside sync.WaitGroup
	for _, f := range d.fleets {
		beside.Go(func() { f.generator.Run(ctx) })
	}
	beside.Go(func() { show.run(ctx) })
	return func() {
		cancel()
		beside.Wait()
	}
}

// served waits until every node of a fleet answers a request with a service.
func (d *demo) served(fleet, name, path, service string) error {
	for _, n := range d.Nodes {
		if n.Fleet != fleet {
			continue
		}
		err := rig.Within(20*time.Second, func() error {
			got, err := n.Get(host(fleet, name), path)
			if err == nil && got.Service != rig.Namespace+"/"+service {
				err = fmt.Errorf("node %s answers %s%s with status %d of %q, want %s", n.Node, host(fleet, name), path, got.Status, got.Service, service)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// keep prints what can be tried and waits for the interruption.
func (d *demo) keep(ctx context.Context) {
	edge, internal := d.fleets[0].nodes[0], d.fleets[1].nodes[0]
	lines := []string{
		"", "Everything stays up until Ctrl-C. In another terminal, in this folder:", "",
		"  export BERTH_ADMIN_ADDRESS=" + d.Plane.AdminAddress,
		"  bin/berthctl status",
		"  bin/berthctl nodes",
		"  bin/berthctl --fleet edge slots shop/web:80",
		"  bin/berthctl --fleet edge explain http://web.example.com/",
		"  bin/berthctl --fleet edge diff " + edge.Node,
		"  bin/berthctl watch",
		"",
		fmt.Sprintf("  curl -i -H 'Host: web.example.com' http://%s/", edge.HTTP()),
		fmt.Sprintf("  curl -i -H 'Host: admin.internal' http://%s/", internal.HTTP()),
		fmt.Sprintf("  curl -s http://%s/metrics | grep ^berth_", d.Plane.MetricsAddress),
		"",
		"  make tools TOOLS=grpcurl",
		fmt.Sprintf("  .tools/grpcurl -plaintext %s list", d.Plane.AdminAddress),
		fmt.Sprintf(`  .tools/grpcurl -plaintext -d '{"fleet": "edge"}' %s berth.admin.v1.AdminService/ListNodes`, d.Plane.AdminAddress),
		"",
		"The objects are files; change one and see it arrive:", "",
		"  ls " + string(d.Dir),
		fmt.Sprintf("  sed -i 's/web.example.com/www.example.com/' %s/ingress_shop_edge-web.yaml", d.Dir),
		"", "A node keeps everything here:", "", "  ls " + edge.StateDir, "",
	}
	_, _ = fmt.Fprintln(d.out, strings.Join(lines, "\n"))
	<-ctx.Done()
	_, _ = fmt.Fprintln(d.out, "\nEnding all of it.")
}
