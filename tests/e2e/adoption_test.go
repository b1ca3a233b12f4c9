package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
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

// P12, P11. Pods come and go while no plane is there. The one that starts with nothing has only their slots changed.
func TestOnlyWhatChangedMeanwhileChanges(t *testing.T) {
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 1)})
	web, other := r.Service("web", 4), r.Service("other", 3)
	r.WaitServed("web")
	r.WaitServed("other")
	r.Must(web.RollingRestart(t.Context(), cluster.Ending{AtOnce: true}))
	r.Must(other.RollingRestart(t.Context(), cluster.Ending{AtOnce: true}))
	waitReady(t, r, web, "web")
	waitReady(t, r, other, "other")
	r.WaitCurrent()
	x := tap(t, r)
	workers, before, told := r.Workers(), seatsOf(t, r), x.commands()
	r.Plane.Kill()
	r.Must(web.Scale(t.Context(), 2, cluster.Ending{}))
	r.Must(web.Scale(t.Context(), 5, cluster.Ending{}))
	r.Plane.Start(t)
	r.WaitCurrent()
	waitReady(t, r, web, "web")
	r.CheckSameWorkers(workers)
	ready := map[string]bool{}
	for _, a := range append(web.Ready(), other.Ready()...) {
		ready[a.String()] = true
	}
	for i, n := range r.Nodes {
		after := strings.Split(seatsOf(t, r)[i], "\n")
		stays := 0
		for _, seat := range strings.Split(before[i], "\n") {
			server, address := strings.Fields(seat)[0], strings.Fields(seat)[1]
			if !ready[address] {
				continue
			}
			stays++
			if !slices.Contains(after, seat) {
				t.Errorf("%s: %s is not there any longer: %v", n.Label(), seat, after)
			}
			for _, c := range x.commands()[i][len(told[i]):] {
				if strings.Contains(c, server+" ") {
					t.Errorf("%s: the worker was told %q, and %s lives there on", n.Label(), c, address)
				}
			}
		}
		if stays != 2+3 || len(after) != 5+3 {
			t.Errorf("%s: %d pods stayed, %d are there; want 5 and 8", n.Label(), stays, len(after))
		}
	}
}

// P9. A plane starts while one of two sources is missing, or has an unreadable file, or is empty as a folder that is not mounted. What nodes have of it stays, under load; the other one's
// endpoints flow; and when it is back, everything is current without a reload and without a word to the workers about it.
func TestASourceIsMissingWhenThePlaneStarts(t *testing.T) {
	top := t.TempDir()
	home, east, away := mkdir(t, filepath.Join(top, "objects")), mkdir(t, filepath.Join(top, "east")), filepath.Join(top, "away")
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 1), Cluster: cluster.Options{Dir: home}, Sources: []string{"east=dir:" + east}})
	web, far := r.Service("web", 2), r.Service("far", 3)
	r.Must(far.RollingRestart(t.Context(), cluster.Ending{AtOnce: true}))
	r.Must(far.Scale(t.Context(), 2, cluster.Ending{}))
	waitReady(t, r, far, "far")
	move(t, home, east, "far")
	r.WaitServed("web")
	r.WaitServed("far")
	r.WaitCurrent()
	x := tap(t, r)
	workers := r.Workers()
	slice := ""
	var text []byte
	c := steady(r, "web", "far")
	l := startLoad(t, c)
	replicas := 2
	for _, v := range []struct {
		name        string
		spoil, mend func() error
		said        string
	}{
		{
			"the folder is missing",
			func() error { return os.Rename(east, away) }, func() error { return os.Rename(away, east) }, "has not been read",
		},
		{
			"a file is unreadable",
			func() error {
				files, err := filepath.Glob(filepath.Join(east, "endpointslice*"))
				if err != nil || len(files) != 1 {
					return fmt.Errorf("slices %v: %w", files, err)
				}
				slice = files[0]
				if text, err = os.ReadFile(slice); err != nil {
					return err
				}
				return os.WriteFile(slice, []byte("kind: EndpointSlice\nmetadata: {name: web"), 0o600)
			},
			func() error { return os.WriteFile(slice, text, 0o600) }, "has not been read",
		},
		{
			"the folder is empty",
			func() error { return errors.Join(os.Rename(east, away), os.Mkdir(east, 0o700)) },
			func() error { return errors.Join(os.Remove(east), os.Rename(away, east)) }, "has no object",
		},
	} {
		seats, told := seatsOf(t, r), x.commands()
		r.Plane.Kill()
		r.Must(v.spoil())
		r.Plane.Start(t)
		waitNil(t, v.name+": the fleets to be frozen, and the nodes to know why", func() error {
			nodes, err := r.Ask()
			for _, n := range r.Nodes {
				if s := nodes[n.Node]; err == nil && (s.GetState() != adminv1.NodeState_NODE_STATE_WAITING || s.GetCode() != "FROZEN" || !strings.Contains(s.GetMessage(), v.said)) {
					err = fmt.Errorf("node %s is %s: %s %s", n.Node, s.GetState(), s.GetCode(), s.GetMessage())
				}
			}
			return err
		})
		for i, n := range r.Nodes {
			if now := x.commands()[i]; len(now) != len(told[i]) {
				t.Errorf("%s: %s: the worker was told %v", v.name, n.Label(), now[len(told[i]):])
			}
		}
		// The other source's endpoints flow.
		replicas++
		r.Must(web.Scale(t.Context(), replicas, cluster.Ending{}))
		began := time.Now()
		for _, n := range r.Nodes {
			waitNil(t, v.name+": the endpoints that can be read to flow to "+n.Label(), func() error {
				look, err := n.Look("")
				for _, a := range web.Ready() {
					if err == nil && !rig.Has(look.Servers, a, haproxy.Ready) {
						err = fmt.Errorf("%s is not there", a)
					}
				}
				return err
			})
		}
		t.Logf("%s: the other source's new pod was in all workers within %v", v.name, time.Since(began).Round(time.Millisecond))
		r.Must(v.mend())
		r.WaitCurrent()
		r.CheckSameWorkers(workers)
		for i, n := range r.Nodes {
			for _, seat := range strings.Split(seats[i], "\n") {
				if !strings.Contains(seatsOf(t, r)[i], seat) {
					t.Errorf("%s: %s: %s moved", v.name, n.Label(), seat)
				}
			}
			for _, c := range x.commands()[i][len(told[i]):] {
				if strings.Contains(c, "east.") {
					t.Errorf("%s: %s: the worker was told %q", v.name, n.Label(), c)
				}
			}
		}
	}
	unharmed(t, l.end(), c)
}
