package demo

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/loadgen"
)

// judge prints the verdict, with what was measured, and returns what is wrong.
func (d *demo) judge(played error) error {
	errs := []error{played}
	var requests, failures int64
	var samples []loadgen.Failure
	for _, f := range d.fleets {
		s := f.generator.Stats()
		requests, failures, samples = requests+s.Requests, failures+s.Failures, append(samples, s.Samples...)
		for _, n := range f.nodes {
			if s.Targets[n.Node].Requests == 0 {
				errs = append(errs, fmt.Errorf("no request was sent to node %s", n.Node))
			}
		}
	}
	if failures > 0 {
		errs = append(errs, fmt.Errorf("%d of %d requests failed", failures, requests))
	}
	errs = append(errs, d.compare())
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(d.out, format+"\n", args...) }
	say("")
	for _, by := range []string{"runtime", "reload"} {
		d.sayLatency(say, by)
	}
	for _, s := range samples[:min(10, len(samples))] {
		say("  %v", s)
	}
	if err := errors.Join(errs...); err != nil {
		say("VERDICT: NOT GOOD. %v", err)
		return err
	}
	say("Every worker was asked what it has: it equals the plane's slot tables, on all of %d nodes.", len(d.Nodes))
	say("VERDICT: GOOD. %d requests were sent through %d HAProxies in %v while pods, routes and tables changed, and not one failed.",
		requests, len(d.Nodes), time.Since(d.began).Round(time.Second))
	return nil
}

// compare asks every worker what it has.
func (d *demo) compare() error {
	var errs []error
	for _, n := range d.Nodes {
		errs = append(errs, rig.Within(10*time.Second, func() error { return d.Differs(n, false) }))
	}
	return errors.Join(errs...)
}

func (d *demo) sayLatency(say func(string, ...any), by string) {
	label := fmt.Sprintf("by=%q", by)
	half, count, err := rig.Quantile(d.Plane.MetricsAddress, "berth_change_applied_seconds", 0.5, label)
	most, _, otherwise := rig.Quantile(d.Plane.MetricsAddress, "berth_change_applied_seconds", 0.99, label)
	if err != nil || otherwise != nil || count == 0 {
		return
	}
	say("From a change of a file to its being read back from a worker, by %s: half within %s, 99 %% within %s (%.0f changes, over all nodes).", by, bound(half), bound(most), count)
}

func bound(seconds float64) string {
	if math.IsInf(seconds, 1) {
		return "more than a minute"
	}
	return time.Duration(seconds * float64(time.Second)).String()
}
