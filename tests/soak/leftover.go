package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
)

// leftovers are what must not grow, by process.
type leftovers struct {
	descriptors, goroutines map[string]int
	files                   map[string][]string // of the state directories
}

const (
	// spare is how many goroutines and descriptors more than in the first calm are none that were left over: a request for metrics, a look
	// at a worker, a connection that is just being made.
	spare = 8
	// leaving is how long what is about to end may take.
	leaving = 10 * time.Second
)

// leaks compares agents and plane with the first calm (SOAK-5).
func (r *Run) leaks() {
	r.t.Helper()
	if r.calm.first == nil {
		now, err := r.count()
		if err != nil {
			r.t.Errorf("count goroutines and descriptors: %v", err)
			return
		}
		r.calm.first = now
		r.say("goroutines %v, descriptors %v", now.goroutines, now.descriptors)
		return
	}
	since := time.Now()
	err := rig.Within(leaving, func() error {
		now, err := r.count()
		if err != nil {
			return err
		}
		for name, first := range r.calm.first.goroutines {
			if is := now.goroutines[name]; is > first+spare {
				return fmt.Errorf("%s has %d goroutines, in the first calm it had %d", name, is, first)
			}
			if is, first := now.descriptors[name], r.calm.first.descriptors[name]; is > first+spare {
				return fmt.Errorf("%s has %d file descriptors, in the first calm it had %d", name, is, first)
			}
		}
		return nil
	})
	if err != nil {
		r.violated("SOAK-5 nothing is left over", since, "%v", err)
	}
}

// count counts what the plane and each agent have.
func (r *Run) count() (*leftovers, error) {
	l := &leftovers{descriptors: map[string]int{}, goroutines: map[string]int{}, files: map[string][]string{}}
	one := func(name, metrics string, p *harness.Process) error {
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
		if err != nil {
			return fmt.Errorf("count the descriptors of %s: %w", name, err)
		}
		goroutines, err := rig.Metric(metrics, "go_goroutines")
		if err != nil {
			return fmt.Errorf("count the goroutines of %s: %w", name, err)
		}
		l.descriptors[name], l.goroutines[name] = len(open), int(goroutines)
		return nil
	}
	if err := one("plane", r.Plane.MetricsAddress, r.Plane.Process); err != nil {
		return nil, err
	}
	for _, n := range r.nodes {
		err := one(n.Node.Node, n.MetricsAddress, n.Process)
		if err == nil {
			l.files[n.Node.Node], err = listed(n.StateDir)
		}
		if err != nil {
			return nil, err
		}
	}
	return l, nil
}

// leftOver looks, after the load has ended, at the processes of HAProxy and at the files of each node.
func (r *Run) leftOver() {
	if r.calm.first == nil {
		return
	}
	for _, n := range r.nodes {
		since := time.Now()
		err := rig.Within(leaving, func() error {
			all, err := n.HAProxies()
			if err != nil {
				return err
			}
			if len(all) != 2 {
				return fmt.Errorf("%s has %d processes of HAProxy, not a master and its worker: %v", n.Label(), len(all), all)
			}
			return r.strays(n)
		})
		if err != nil {
			r.violated("SOAK-5 nothing is left over", since, "%v", err)
		}
	}
}

// strays says what is in a state directory that was not there in the first calm.
func (r *Run) strays(n *node) error {
	now, err := listed(n.StateDir)
	if err != nil {
		return err
	}
	for _, name := range now {
		if !slices.Contains(r.calm.first.files[n.Node.Node], name) {
			return fmt.Errorf("a file is left over: %s", filepath.Join(n.StateDir, name))
		}
	}
	return nil
}

func listed(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look for stray files: %w", err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// keep copies what may tell more to a folder.
func (r *Run) keep() {
	if r.options.Keep == "" {
		return
	}
	texts := map[string]string{"plane.log": r.Plane.Log()}
	for _, n := range r.nodes {
		texts[n.Node.Node+".log"] = n.Log()
		for _, name := range []string{"haproxy.cfg", "haproxy.log", "journal/log"} {
			text, _ := os.ReadFile(filepath.Join(n.StateDir, name))
			texts[n.Node.Node+"-"+strings.ReplaceAll(name, "/", "-")] = string(text)
		}
		if answer, err := haproxy.Ask(n.WorkerSocket(), "show servers state"); err == nil {
			texts[n.Node.Node+"-servers"] = answer
		}
	}
	err := os.MkdirAll(r.options.Keep, 0o750)
	for name, text := range texts {
		if err == nil {
			err = os.WriteFile(filepath.Join(r.options.Keep, name), []byte(text), 0o600)
		}
	}
	if err != nil {
		r.t.Errorf("keep the logs of this run: %v", err)
		return
	}
	r.say("what the processes wrote is in %s", r.options.Keep)
}
