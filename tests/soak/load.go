package soak

import (
	"context"
	"time"

	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/loadgen"
)

// The rates of the load, in requests a second, at one node or one yardstick.
const (
	rate       = 40
	secureRate = 6
)

// secureHost is the host with a certificate.
const secureHost = "secure.example.com"

// A load is a generator that runs.
type load struct {
	generator *loadgen.Generator
	stop      context.CancelFunc
	done      chan struct{}
}

// begin runs a load at one target. What fails is the account's.
func (r *Run) beginLoad(ctx context.Context, where int, c loadgen.Config) *load {
	r.t.Helper()
	c.Failed = func(f loadgen.Failure) { r.account.failed(where, f, time.Now()) }
	c.Seed = r.options.Seed
	g, err := loadgen.New(c)
	if err != nil {
		r.t.Fatalf("prepare the load: %v", err)
	}
	ctx, stop := context.WithCancel(ctx)
	l := &load{generator: g, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		g.Run(ctx)
	}()
	return l
}

// services are those whose pods move, and to whom the load goes.
var services = []string{"web", "api", "west"}

// startLoad begins a steady load at every node and yardstick, which never retries.
func (r *Run) startLoad(ctx context.Context) {
	r.t.Helper()
	plain := loadgen.Config{Rate: rate, Loads: loadgen.Mix(1)}
	for _, s := range services {
		plain.Routes = append(plain.Routes, loadgen.Route{Host: rig.Host(s), Service: rig.Namespace + "/" + s})
	}
	secure := loadgen.Config{
		Rate:   secureRate,
		Loads:  []loadgen.Load{{Profile: loadgen.NewConnections, Clients: 1}, {Profile: loadgen.KeepAlive, Clients: 1}},
		Routes: []loadgen.Route{{Host: secureHost, Service: rig.Namespace + "/web"}},
	}
	for i, n := range r.nodes {
		plain.Targets = []loadgen.Target{{Name: n.Label(), Address: n.HTTP()}}
		n.load = r.beginLoad(ctx, i, plain)
		secure.Targets = []loadgen.Target{{Name: n.Label() + " by TLS", Address: n.HTTPS(), TLS: true}}
		n.secure = r.beginLoad(ctx, i, secure)
	}
	for i, y := range r.yards {
		plain.Targets = []loadgen.Target{{Name: y.name, Address: y.plain.Address()}}
		y.load = r.beginLoad(ctx, len(r.nodes)+i, plain)
	}
}

// endLoad stops all of the load and waits for the requests that run.
func (r *Run) endLoad() {
	var all []*load
	for _, n := range r.nodes {
		all = append(all, n.load, n.secure)
	}
	for _, y := range r.yards {
		all = append(all, y.load)
	}
	for _, l := range all {
		l.stop()
	}
	for _, l := range all {
		<-l.done
	}
}
