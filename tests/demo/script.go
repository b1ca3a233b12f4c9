package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/loadgen"
)

// An act is one thing that is done, with what a person should know when it begins.
type act struct {
	what string
	do   func(ctx context.Context) error
	// rest is how long it is then watched.
	rest time.Duration
}

// play plays the acts and ends at the first that cannot be done.
func (d *demo) play(ctx context.Context, show *screen) error {
	for _, a := range d.acts() {
		show.say(a.what)
		if err := a.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", a.what, err)
		}
		if err := wait(ctx, a.rest); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) acts() []act {
	edge := d.fleets[0]
	web, api := sends("edge", "web", "web"), sends("edge", "api", "api")
	below := route("edge", "below", "api")
	below.Host, below.Path = host("edge", "web"), "/v2"
	v2 := loadgen.Route{Host: below.Host, Path: "/v2", Service: api.Service}
	blog := sends("edge", "blog", "blog")
	return []act{
		{"steady load: 300 requests a second of every kind, none is ever retried", func(context.Context) error { return nil }, 5 * time.Second},
		{"rolling restart of shop/web (in both fleets): slots, no reload", func(ctx context.Context) error {
			return d.web.RollingRestart(ctx, cluster.Ending{ServeOn: serveOn, Pause: time.Second})
		}, time.Second},
		{"a route comes, web.example.com/v2 to shop/api: map entries, no reload", func(context.Context) error {
			err := errors.Join(d.AddRoute(below), d.served("edge", "web", "/v2", "api"))
			edge.generator.SetRoutes([]loadgen.Route{web, api, v2})
			return err
		}, 4 * time.Second},
		{"shop/api goes from 2 to 9 pods: its table grows, no reload", func(ctx context.Context) error {
			return d.api.Scale(ctx, 9, cluster.Ending{})
		}, 4 * time.Second},
		{"a service comes with its route, shop/blog: structure, the fleet edge reloads", func(ctx context.Context) error {
			_, err := d.Deploy(ctx, cluster.Spec{Namespace: rig.Namespace, Name: "blog"}, 1)
			// A connection that a client had before the reload is the old worker's, which knows no new host and answers 404 until it has let go of it, after 5 s at most.
			if err = errors.Join(err, d.AddRoute(route("edge", "blog", "blog")), d.served("edge", "blog", "/", "blog"), settled(edge)); err == nil {
				edge.generator.SetRoutes([]loadgen.Route{web, api, v2, blog})
			}
			return err
		}, 2 * time.Second},
		{"rolling restarts of all, and a structural change every 300 ms", d.storm, 3 * time.Second},
		{"shop/api goes back to 2 pods", func(ctx context.Context) error {
			return d.api.Scale(ctx, 2, cluster.Ending{ServeOn: serveOn})
		}, time.Second},
		{"the route web.example.com/v2 goes again", func(context.Context) error {
			edge.generator.SetRoutes([]loadgen.Route{web, api, blog})
			return errors.Join(d.RemoveRoute(below), d.served("edge", "web", "/v2", "web"))
		}, 3 * time.Second},
	}
}

// storm restarts deployments while the structure changes: a route that nobody uses gets other settings, and with them another backend.
func (d *demo) storm(ctx context.Context) error {
	var work sync.WaitGroup
	errs := make([]error, 3)
	for i, deployment := range []*cluster.Deployment{d.web, d.api, d.admin} {
		work.Go(func() {
			errs[i] = deployment.RollingRestart(ctx, cluster.Ending{ServeOn: serveOn, Pause: 400 * time.Millisecond})
		})
	}
	over := make(chan struct{})
	go func() { work.Wait(); close(over) }()
	ticks := time.NewTicker(300 * time.Millisecond)
	defer ticks.Stop()
	for i := 0; ; i++ {
		for _, class := range []string{"edge", "internal"} {
			r := route(class, "aside", "admin")
			r.Annotations = map[string]string{"berth.dev/timeout-server": fmt.Sprintf("%ds", 30+i)}
			if err := d.AddRoute(r); err != nil {
				<-over
				return err
			}
		}
		select {
		case <-over:
			return errors.Join(errs...)
		case <-ticks.C:
		}
	}
}

// settled waits until no node of a fleet has old workers.
func settled(f *fleet) error {
	var errs []error
	for _, n := range f.nodes {
		errs = append(errs, rig.Within(20*time.Second, func() error {
			old, err := n.OldWorkers()
			if err == nil && old > 0 {
				err = fmt.Errorf("node %s has %d old workers", n.Node, old)
			}
			return err
		}))
	}
	return errors.Join(errs...)
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
