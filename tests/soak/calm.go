package soak

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
)

// A calm remembers what the first one found.
type calm struct {
	first *leftovers
	took  []time.Duration
}

const (
	// promised is how long after the last fault every node is as the plane wants it (SOAK-4).
	promised = 5 * time.Second
	// patience is how long is waited beyond that, to tell how late it was.
	patience = 30 * time.Second
)

// becalm waits until every node is as the plane wants it, and tells if that took longer than is promised. The last fault was over at a time.
func (r *Run) becalm(over time.Time, round Round) {
	r.t.Helper()
	if err := r.churn.ticks(); err != nil {
		r.t.Errorf("change what is in the sources: %v", err)
	}
	slow := 0.0
	why := r.settled()
	for ; why != nil && time.Since(over) < patience; why = r.settled() {
		<-time.After(25 * time.Millisecond)
		if time.Since(over) > promised/2 {
			slow = max(slow, r.slowness())
		}
	}
	took, bound := time.Since(over), time.Duration(float64(promised)*max(1, slow/usual))
	switch {
	case why != nil:
		r.violated("SOAK-4 all nodes equal", over, "%.1f s after the last fault, and no more was waited: %v", took.Seconds(), why)
	case took > bound:
		r.violated("SOAK-4 all nodes equal", over, "it took %.1f s from the last fault on, %.1f s are promised (what HAProxy computes took %.1f times as long as it computed)", took.Seconds(), bound.Seconds(), slow)
	default:
		r.say("calm: every node is as the plane wants it, %d ms after the last fault", took.Milliseconds())
		r.calm.took = append(r.calm.took, took)
	}
	r.account.judge(r)
	r.leaks()
}

// usual is how much longer than it computes HAProxy takes to check a configuration on a machine that has a core for it.
const usual = 3

// slowness says how much longer than it computes HAProxy takes to check a configuration now: on a machine that does not give a process its core within SOAK-4's
// five seconds, they are so much longer.
func (r *Run) slowness() float64 {
	start := time.Now()
	check := exec.Command(r.yards[0].binary, "-c", "-f", filepath.Join(r.yards[0].dir, "haproxy.cfg"))
	if err := check.Run(); err != nil {
		return 0 // it is just being written
	}
	took := time.Since(start)
	return float64(took) / float64(max(time.Millisecond, check.ProcessState.UserTime()+check.ProcessState.SystemTime()))
}

// settled says what is not yet as it has to be, nil if everything is.
func (r *Run) settled() error {
	structure := r.churn.wanted()
	ticks := map[string]int{}
	for _, b := range r.churn.beacons {
		ticks[b.backend] = b.written()
	}
	wanted, err := r.Wanted(fleet)
	if err != nil {
		return err
	}
	if err := r.read(wanted, ticks); err != nil {
		return err
	}
	states, err := r.Ask()
	if err != nil {
		return err
	}
	for _, n := range r.nodes {
		if s := states[n.Node.Node]; s.GetState() != adminv1.NodeState_NODE_STATE_CURRENT {
			return fmt.Errorf("the plane says of %s: %s, %s %s", n.Label(), s.GetState(), s.GetCode(), s.GetMessage())
		}
		servers, err := haproxy.Servers(n.WorkerSocket(), "")
		if err != nil {
			return fmt.Errorf("%s: %w", n.Label(), err)
		}
		if err := rig.Compare(wanted, servers, false); err != nil {
			return fmt.Errorf("%s: %w", n.Label(), err)
		}
		if err := errors.Join(r.equal(n), r.served(n, structure)); err != nil {
			return fmt.Errorf("%s: %w", n.Label(), err)
		}
	}
	return nil
}

// read says what the plane has not read yet of what was written.
func (r *Run) read(wanted rig.Document, ticks map[string]int) error {
	for _, s := range wanted.Sources {
		if s.Error != "" {
			return fmt.Errorf("the plane says of its source %s: %s", s.Name, s.Error)
		}
	}
	for name, tick := range ticks {
		i := slices.IndexFunc(wanted.Backends, func(b rig.Backend) bool { return b.Name == name })
		if i < 0 {
			return fmt.Errorf("the plane wants no backend %s", name)
		}
		newest := 0
		for _, s := range wanted.Backends[i].Slots {
			newest = max(newest, tickOf(s.Address, s.Port))
		}
		if newest < tick {
			return fmt.Errorf("the plane wants tick %d of %s, and %d was written", newest, name, tick)
		}
	}
	return nil
}

// equal asks the plane to compare the node's worker with what it wants.
func (r *Run) equal(n *node) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	diff, err := r.Admin().DiffNode(ctx, &adminv1.DiffNodeRequest{Fleet: fleet, Node: n.Node.Node})
	if err != nil {
		return fmt.Errorf("compare with the plane: %w", err)
	}
	if !diff.GetEqual() {
		return fmt.Errorf("the plane says that the worker differs: %v", diff.GetDifferences())
	}
	return nil
}

// served sends a request by each route that came or went.
func (r *Run) served(n *node, s structure) error {
	for name := range s.extra {
		if got, err := n.Get(rig.Host(name), "/"); err != nil || got.Status != http.StatusOK || got.Service != rig.Namespace+"/web" {
			return fmt.Errorf("by the route %s it answers %+v, %w", name, got, orNone(err))
		}
	}
	for _, name := range s.removed {
		if got, err := n.Get(rig.Host(name), "/"); err != nil || got.Status != http.StatusNotFound {
			return fmt.Errorf("by the route %s, which was removed, it answers %+v, %w", name, got, orNone(err))
		}
	}
	if serial, err := n.Serial(secureHost); err != nil || serial != s.serial {
		return fmt.Errorf("it shows certificate %s, not %s, %w", serial, s.serial, orNone(err))
	}
	return nil
}

var errNone = errors.New("no error")

// orNone is for a text in which an error may stand.
func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

// serialOf is the serial number of a certificate.
func serialOf(text string) (string, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return "", errors.New("read a certificate: it is no PEM")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("read a certificate: %w", err)
	}
	return c.SerialNumber.String(), nil
}
