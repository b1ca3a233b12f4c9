package soak

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/link"
)

const (
	up, down = link.Up, link.Down
	// slow is a bad connection, in bytes a second.
	slow = 10_000
)

func networkCut(_ *Run, n *node, _ *rand.Rand) (func() error, error) {
	n.link.Cut()
	return nil, nil
}

func networkAway(_ *Run, n *node, _ *rand.Rand) (func() error, error) {
	n.link.Refuse()
	n.link.Cut()
	return n.restore, nil
}

func networkSlow(_ *Run, n *node, _ *rand.Rand) (func() error, error) {
	n.link.Slow(slow)
	return n.restore, nil
}

func networkStopped(way link.Way) func(*Run, *node, *rand.Rand) (func() error, error) {
	return func(_ *Run, n *node, _ *rand.Rand) (func() error, error) {
		n.link.Stop(way)
		return n.restore, nil
	}
}

func networkForgot(_ *Run, n *node, _ *rand.Rand) (func() error, error) {
	n.link.Abandon()
	return n.restore, nil
}

func (n *node) restore() error {
	n.link.Restore()
	return nil
}

// planeKilled kills the plane, which has nothing on a disk.
func planeKilled(r *Run, _ *node, _ *rand.Rand) (func() error, error) {
	r.Plane.Kill()
	return func() error { r.Plane.Start(r.t); return nil }, nil
}

// planeKilledSourceEmpty kills the plane, and lets it find the second source without an object, as when a volume is not mounted.
func planeKilledSourceEmpty(r *Run, _ *node, _ *rand.Rand) (func() error, error) {
	r.Plane.Kill()
	aside, empty := r.westPath+".away", r.westPath+".empty"
	err := os.Rename(r.westPath, aside)
	if err == nil {
		err = errors.Join(os.MkdirAll(empty, 0o700), os.Symlink(empty, r.westPath))
	}
	r.Plane.Start(r.t)
	return func() error { return os.Rename(aside, r.westPath) }, err
}

func planeFrozen(r *Run, _ *node, _ *rand.Rand) (func() error, error) {
	r.Plane.Signal(r.t, syscall.SIGSTOP)
	return func() error { r.Plane.Signal(r.t, syscall.SIGCONT); return nil }, nil
}

// sourceAway takes the second source away. Who writes into it goes on: what the plane is told to read is a link.
func sourceAway(r *Run, _ *node, _ *rand.Rand) (func() error, error) {
	aside := r.westPath + ".away"
	if err := os.Rename(r.westPath, aside); err != nil {
		return nil, err
	}
	return func() error { return os.Rename(aside, r.westPath) }, nil
}

// fileBroken breaks the file of a route that nothing else changes, or has it lead nowhere. It cannot be parsed then: a document that parses and is rejected is another matter, as a
// plane that starts anew knows no form of it that was good (P10).
func fileBroken(r *Run, _ *node, random *rand.Rand) (func() error, error) {
	at, name := r.Cluster, "web"
	if random.IntN(2) == 0 {
		at, name = r.west, "west"
	}
	texts := []string{"kind: Ingress\nmetadata: {name: web", "", "\x00\xff", "spec: ["}
	file := "ingress_" + rig.Namespace + "_" + name + ".yaml"
	var err error
	if n := random.IntN(len(texts) + 1); n < len(texts) {
		err = at.Write(file, []byte(texts[n]))
	} else {
		path := filepath.Join(string(at.Dir), file)
		err = errors.Join(os.Symlink("nowhere", path+".new"), os.Rename(path+".new", path))
	}
	return func() error { return at.AddRoute(rig.Route(name)) }, err
}

// refusedRevision is one that the nodes' HAProxies do not take when they check it.
func refusedRevision(r *Run, _ *node, random *rand.Rand) (func() error, error) {
	odd := func(timeout string) cluster.Route {
		route := rig.Route("odd", "timeout-server", timeout)
		route.Service = "api"
		return route
	}
	err := r.AddRoute(odd("66s"))
	return func() error { return r.AddRoute(odd([]string{"61s", "62s"}[random.IntN(2)])) }, err
}
