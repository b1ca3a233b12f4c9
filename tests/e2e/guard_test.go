package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/loadgen"
)

// P9. A folder with 12 of a fleet's 20 services is deleted under load. For ten seconds nothing changes on any node, and people are told; then it goes. Moved away and
// back in time it was never gone for a node; released by hand it goes at once.
func TestRemovalGuard(t *testing.T) {
	dir := mkdir(t, filepath.Join(t.TempDir(), "objects"))
	r := rig.New(t, rig.Options{
		Fleets: []rig.Fleet{{Name: "default", HAProxy: harness.NewHAProxy(t)}}, Cluster: cluster.Options{Dir: dir},
	})
	var stay, more []string
	for i := range 20 {
		name := fmt.Sprintf("s%d", i)
		r.Service(name, 1)
		if i < 8 {
			stay = append(stay, name)
		} else {
			more = append(more, name)
		}
	}
	folder := mkdir(t, filepath.Join(dir, "more"))
	move(t, dir, folder, more...)
	for _, s := range append(stay, more...) {
		r.WaitServed(s)
	}
	r.WaitCurrent()

	mix := []loadgen.Load{{Profile: loadgen.NewConnections, Clients: 1}, {Profile: loadgen.KeepAlive, Clients: 1}}
	c := r.Load(200, mix, append(stay, more...)...)
	l := startLoad(t, c)
	before := marks(t, r)
	workers := r.Workers()

	// Away and back.
	away := filepath.Join(filepath.Dir(dir), "away")
	r.Must(os.Rename(folder, away))
	waitHeld(t, r, 36)
	during(t, 3*time.Second)
	r.Must(os.Rename(away, folder))
	waitHeld(t, r, 0)
	during(t, time.Second)
	if now := marks(t, r); now != before {
		t.Errorf("the fleet is at %s, and was at %s before files went and came back", now, before)
	}

	// Away for good, of which a copy is kept.
	r.Must(os.CopyFS(away, os.DirFS(folder)))
	began := time.Now()
	r.Must(os.RemoveAll(folder))
	waitHeld(t, r, 36)
	for _, words := range [][]string{{"status"}, {"sources"}} {
		if out, _, _ := r.Plane.Ctl(t, words...); !strings.Contains(out, "36 objects vanished") || !strings.Contains(out, "berthctl sources release objects") {
			t.Errorf("berthctl %v: %s", words, out)
		}
	}
	during(t, time.Until(began.Add(8*time.Second)))
	if s := l.generator.Stats(); s.Failures > 0 {
		t.Errorf("%d of %d requests failed while the removal was held: %v", s.Failures, s.Requests, s.Kinds)
	}
	l.generator.SetRoutes(r.Load(0, nil, stay...).Routes)
	during(t, time.Until(began.Add(9500*time.Millisecond)))
	if now := marks(t, r); now != before {
		t.Errorf("the fleet is at %s, and was at %s before the folder went", now, before)
	}
	r.CheckSameWorkers(workers)
	for _, s := range more {
		waitAnswer(t, r.Nodes[0], rig.Host(s), rig.Answer{Status: http.StatusNotFound})
	}
	if took := time.Since(began); took < 10*time.Second || took > 20*time.Second {
		t.Errorf("the services were gone after %s", took)
	}
	r.WaitCurrent()

	// There again, and gone by hand.
	r.Must(os.Rename(away, folder))
	for _, s := range more {
		r.WaitServed(s)
	}
	r.Must(os.RemoveAll(folder))
	waitHeld(t, r, 36)
	began = time.Now()
	if out, complaint, code := r.Plane.Ctl(t, "sources", "release", "objects"); code != 0 {
		t.Errorf("berthctl sources release: exit code %d: %s%s", code, out, complaint)
	}
	for _, s := range more {
		waitAnswer(t, r.Nodes[0], rig.Host(s), rig.Answer{Status: http.StatusNotFound})
	}
	if took := time.Since(began); took > 9*time.Second {
		t.Errorf("released by hand, the services were gone after %s", took)
	}
	waitHeld(t, r, 0)
	unharmed(t, l.end(), c)
}

// move moves the files of some services to another folder.
func move(t *testing.T, from, to string, services ...string) {
	t.Helper()
	for _, s := range services {
		files, err := filepath.Glob(filepath.Join(from, "*_"+rig.Namespace+"_"+s+"*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files of service %s: %v", s, err)
		}
		for _, f := range files {
			base := filepath.Base(f)
			if !strings.HasSuffix(base, "_"+s+".yaml") && !strings.Contains(base, "_"+s+"-") {
				continue // s1 is the beginning of s10
			}
			if err := os.Rename(f, filepath.Join(to, base)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// marks are what the plane has published to the fleet.
func marks(t *testing.T, r *rig.Rig) string {
	t.Helper()
	f, err := r.FleetState("default")
	r.Must(err)
	return fmt.Sprintf("revision %d %s, generation %d %s", f.GetRevision().GetNumber(), f.GetRevision().GetDigest(), f.GetGeneration().GetNumber(), f.GetGeneration().GetDigest())
}

// waitHeld waits until the guard holds back the removal of as many objects.
func waitHeld(t *testing.T, r *rig.Rig, want float64) {
	t.Helper()
	waitNil(t, fmt.Sprintf("the guard to hold back %v objects", want), func() error {
		got, err := rig.Metric(r.Plane.MetricsAddress, "berth_guard_held_objects")
		if err == nil && got != want {
			err = fmt.Errorf("it holds %v", got)
		}
		return err
	})
}
