package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
	"github.com/berth-proxy/berth/tests/loadgen"
)

// P9. The plane starts anew while one of its two sources is missing: nodes keep what they have of it, and the other one's endpoints flow. An operator has it forgotten: what
// it said goes, and nothing waits any longer. When the source is there again, so is what it says.
func TestForgetASourceThatIsMissing(t *testing.T) {
	top := t.TempDir()
	home, east, away := mkdir(t, filepath.Join(top, "objects")), filepath.Join(top, "east"), filepath.Join(top, "away")
	mkdir(t, east)
	r := rig.New(t, rig.Options{
		Fleets:  []rig.Fleet{{Name: "default", HAProxy: harness.NewHAProxy(t)}},
		Cluster: cluster.Options{Dir: home}, Sources: []string{"east=dir:" + east},
	})
	d := r.Service("web", 2)
	r.Service("far", 1)
	move(t, home, east, "far")
	r.WaitServed("web")
	r.WaitServed("far")
	r.WaitCurrent()
	c := r.Load(100, []loadgen.Load{{Profile: loadgen.NewConnections, Clients: 1}, {Profile: loadgen.KeepAlive, Clients: 1}}, "web")
	l := startLoad(t, c)

	r.Plane.Kill()
	r.Must(os.Rename(east, away))
	r.Plane.Start(t)
	waitSources(t, r, "not read in full yet", "berthctl sources forget east")
	r.Must(d.Scale(t.Context(), 3, cluster.Ending{}))
	waitNil(t, "the node to have the new pod", func() error {
		look, err := r.Nodes[0].Look("")
		for _, a := range d.Ready() {
			if err == nil && !rig.Has(look.Servers, a, haproxy.Ready) {
				err = fmt.Errorf("it has no %s", a)
			}
		}
		return err
	})
	waitAnswer(t, r.Nodes[0], rig.Host("far"), rig.Answer{Status: http.StatusOK, Service: "shop/far"})

	if out, complaint, code := r.Plane.Ctl(t, "sources", "forget", "east"); code != 0 || !strings.Contains(out, "it counts as read") {
		t.Fatalf("berthctl sources forget: exit code %d: %s%s", code, out, complaint)
	}
	waitAnswer(t, r.Nodes[0], rig.Host("far"), rig.Answer{Status: http.StatusNotFound})
	waitSources(t, r, "forgotten since", "is not there")
	r.WaitCurrent()

	r.Must(os.Rename(away, east))
	r.WaitServed("far")
	r.WaitCurrent()
	unharmed(t, l.end(), c)
}

// waitSources waits until berthctl sources prints these texts.
func waitSources(t *testing.T, r *rig.Rig, texts ...string) {
	t.Helper()
	waitNil(t, "berthctl sources to say "+strings.Join(texts, " and "), func() error {
		out, complaint, _ := r.Plane.Ctl(t, "sources")
		for _, text := range texts {
			if !strings.Contains(out, text) {
				return fmt.Errorf("it says %s%s", out, complaint)
			}
		}
		return nil
	})
}
