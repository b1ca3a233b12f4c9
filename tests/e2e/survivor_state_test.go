package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/loadgen"
)

// empty removes everything in a node's state directory, also what its agent puts back meanwhile.
func empty(n *rig.Node) error {
	files, err := os.ReadDir(n.StateDir)
	if err != nil {
		return fmt.Errorf("empty the state directory of %s: %w", n.Label(), err)
	}
	for _, f := range files {
		err := os.RemoveAll(filepath.Join(n.StateDir, f.Name()))
		for errors.Is(err, syscall.ENOTEMPTY) {
			err = os.RemoveAll(filepath.Join(n.StateDir, f.Name()))
		}
		if err != nil {
			return fmt.Errorf("empty the state directory of %s: %w", n.Label(), err)
		}
	}
	return nil
}

// P9. Somebody empties the state directories under nodes that serve, certificates with their keys included, in the middle of a rolling restart: endpoints flow on, the plane sends the
// certificates again when it is greeted, files and sockets come back, later changes of the structure arrive, and no request fails. The same again with agents that are killed at that
// moment and know nothing when they come back.
func TestEmptiedStateDirectoryUnderLoad(t *testing.T) {
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 1)})
	d := r.Service("web", 3)
	secret, err := cluster.Certificate(rig.Namespace, "secure", "secure.example.com")
	r.Must(err)
	r.Must(r.Put(secret))
	route := rig.Route("web")
	route.Name, route.Host, route.TLSSecret = "secure", "secure.example.com", "secure"
	r.Must(r.AddRoute(route))
	r.WaitServed("web")
	r.WaitCurrent()
	c := r.Load(200, loadgen.Mix(1), "web")
	l := startLoad(t, c)
	for i, killed := range []bool{false, true} {
		restarting := make(chan error, 1)
		go func() { restarting <- d.RollingRestart(t.Context(), cluster.Ending{ServeOn: serveOn}) }()
		during(t, 300*time.Millisecond)
		for _, n := range r.Nodes {
			if killed {
				n.Kill()
			}
			r.Must(empty(n))
			if killed {
				n.Start(t)
			}
		}
		r.Must(<-restarting)
		waitReady(t, r, d, "web")
		for _, n := range r.Nodes {
			waitNil(t, n.Label()+" to have its files again", func() error { return whole(n) })
		}
		r.WaitCurrent()
		other := fmt.Sprint("other", i)
		r.Service(other, 1)
		r.WaitServed(other)
		r.WaitCurrent()
		for _, n := range r.Nodes {
			if got, certificate, err := n.GetTLS("secure.example.com", "/"); err != nil || got.Status != http.StatusOK || certificate != "secure" {
				t.Errorf("%s: https://secure.example.com gets %+v with the certificate %q, %v", n.Label(), got, certificate, err)
			}
		}
	}
	unharmed(t, l.end(), c)
}

// whole says what of a node's state directory is missing, beside what HAProxy has open.
func whole(n *rig.Node) error {
	for _, name := range []string{"haproxy.cfg", "master.sock", "worker.sock", "agent.lock", "journal/log", "certs/default.pem", "certs/crt-list", "maps/hosts.map"} {
		if _, err := os.Lstat(filepath.Join(n.StateDir, name)); err != nil {
			return fmt.Errorf("look for what was removed: %w", err)
		}
	}
	return nil
}
