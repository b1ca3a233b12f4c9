package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
)

// tapped stands between the agents and their workers, and knows what the journals had.
type tapped struct {
	r        *rig.Rig
	taps     []*rig.Tap
	journals []string
}

// tap restarts the agents with a tap on their workers, and waits until they are current again and have said what they have to say.
func tap(t *testing.T, r *rig.Rig) *tapped {
	t.Helper()
	x := &tapped{r: r}
	for _, n := range r.Nodes {
		n.Kill()
		x.taps = append(x.taps, n.Tap(t))
		n.Start(t)
	}
	r.WaitCurrent()
	x.journals = x.readJournals(t)
	return x
}

// commands are what all workers were told so far, a list for each node.
func (x *tapped) commands() [][]string {
	var all [][]string
	for _, tap := range x.taps {
		all = append(all, tap.Commands())
	}
	return all
}

// readJournals are the records that each agent has written of updates: none is added while no update comes.
func (x *tapped) readJournals(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, n := range x.r.Nodes {
		files, err := filepath.Glob(filepath.Join(n.StateDir, "journal", "*"))
		x.r.Must(err)
		text := ""
		for _, f := range files {
			b, err := os.ReadFile(f)
			x.r.Must(err)
			text += fmt.Sprintf("%s %d\n", filepath.Base(f), len(b))
		}
		all = append(all, text)
	}
	return all
}

// seatsOf says which server holds which address, on each node.
func seatsOf(t *testing.T, r *rig.Rig) []string {
	t.Helper()
	var all []string
	for _, n := range r.Nodes {
		look, err := n.Look("")
		r.Must(err)
		var taken []string
		for _, s := range look.Servers {
			if s.Address.Addr() != haproxy.Placeholder {
				taken = append(taken, fmt.Sprintf("%s/%s %s %s", s.Backend, s.Name, s.Address, s.State))
			}
		}
		slices.Sort(taken)
		all = append(all, strings.Join(taken, "\n"))
	}
	return all
}

// replacePlane kills the plane, starts it again with nothing, and waits until all nodes are current with it.
func replacePlane(t *testing.T, r *rig.Rig) {
	t.Helper()
	r.Plane.Kill()
	r.Plane.Start(t)
	r.WaitCurrent()
}

// P12, P11. A plane that is killed and started with nothing adopts the slot positions from the nodes: after a history that left holes, drained and long tables, nobody moves, no
// update is sent, the workers are told nothing, and no request fails.
func TestAPlaneThatStartsWithNothingChangesNothing(t *testing.T) {
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 2)})
	web, other := r.Service("web", 5), r.Service("other", 2)
	r.WaitServed("web")
	r.WaitServed("other")
	r.WaitCurrent()
	// A history that no plane would come to by seating who is there now.
	r.Must(web.RollingRestart(t.Context(), cluster.Ending{AtOnce: true}))
	r.Must(other.Scale(t.Context(), 9, cluster.Ending{}))
	r.Must(web.Scale(t.Context(), 2, cluster.Ending{}))
	waitReady(t, r, web, "web")
	r.WaitCurrent()
	x := tap(t, r)
	workers, before, told := r.Workers(), seatsOf(t, r), x.commands()

	c := steady(r, "web", "other")
	l := startLoad(t, c)
	for range 2 {
		replacePlane(t, r)
		during(t, 3*time.Second) // what an agent would do later
	}
	unharmed(t, l.end(), c)
	r.CheckSameWorkers(workers)
	for i, n := range r.Nodes {
		if after := seatsOf(t, r)[i]; after != before[i] {
			t.Errorf("%s: slots moved from\n%s\nto\n%s", n.Label(), before[i], after)
		}
		if now := x.commands()[i]; len(now) != len(told[i]) {
			t.Errorf("%s: the worker was told %d things: %v", n.Label(), len(now)-len(told[i]), now[len(told[i]):])
		}
		if now := x.readJournals(t)[i]; now != x.journals[i] {
			t.Errorf("%s: an update was written into its journal: %s became %s", n.Label(), x.journals[i], now)
		}
	}
	// The tap does see what is told.
	r.Must(web.Scale(t.Context(), 3, cluster.Ending{}))
	waitReady(t, r, web, "web")
	for i, n := range r.Nodes {
		if now := x.commands()[i]; len(now) == len(told[i]) {
			t.Errorf("%s: a pod came and the tap saw nothing", n.Label())
		}
	}
}

