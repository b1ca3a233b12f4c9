package soak

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
	"github.com/berth-proxy/berth/tests/loadgen"
)

// worker is the process that takes the traffic, master the one that started it, and everybody all of them.
func worker(n *node) ([]haproxy.Identity, error) {
	id, err := n.Worker()
	return []haproxy.Identity{id}, err
}

func master(n *node) ([]haproxy.Identity, error) {
	all, err := haproxy.Processes(n.MasterSocket())
	for _, p := range all {
		if err == nil && p.Kind == "master" {
			id, err := haproxy.Identify(p.PID)
			return []haproxy.Identity{id}, err
		}
	}
	return nil, fmt.Errorf("find the master of %s: %w", n.Label(), orNone(err))
}

func everybody(n *node) ([]haproxy.Identity, error) { return n.HAProxies() }

// killed kills processes of HAProxy. What fails through the node until it serves again is charged to the fault.
func killed(whom func(*node) ([]haproxy.Identity, error), when moment) func(*Run, *node, *rand.Rand) (func() error, error) {
	return func(r *Run, n *node, random *rand.Rand) (func() error, error) {
		return nil, r.strike(n, whom, when, random)
	}
}

// strike is killed for the moment of the blow alone.
func (r *Run) strike(n *node, whom func(*node) ([]haproxy.Identity, error), when moment, random *rand.Rand) error {
	if err := when(r, n, random); err != nil {
		return err
	}
	victims, err := whom(n)
	if err != nil {
		return err
	}
	before, err := n.Worker()
	if err != nil {
		return err
	}
	name := r.lastKill()
	r.charge(n, name, before)
	r.kill(n.yard, name)
	for _, v := range victims {
		_ = syscall.Kill(v.PID, syscall.SIGKILL) // gone meanwhile is what is wanted
	}
	return nil
}

// charge charges a fault with what fails through a node, until another worker than the one before serves.
func (r *Run) charge(n *node, fault string, before haproxy.Identity) {
	r.untilServed(n, r.account.open(n.number-1, fault), before)
}

// untilServed calls over when another worker than the one before has answered a request.
func (r *Run) untilServed(n *node, over func(), before haproxy.Identity) {
	r.running.Go(func() {
		defer over()
		// Nobody waits for ever: a node that is not back is told of by the calm.
		for end := time.Now().Add(patience); time.Now().Before(end); <-time.After(5 * time.Millisecond) {
			now, err := n.Worker()
			if err != nil || now == before {
				continue
			}
			if got, err := n.Get(rig.Host("web"), "/"); err == nil && got.Status == http.StatusOK {
				return
			}
		}
	})
}

// lastKill is the name of the kind of killing fault that has begun last.
func (r *Run) lastKill() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := Fault{Kind: &Kind{}}
	for _, f := range r.on {
		if f.Kind.Kills && f.Number >= last.Number {
			last = f
		}
	}
	return last.Kind.Name
}

// portTaken kills HAProxy and takes its port before it is back.
func portTaken(r *Run, n *node, random *rand.Rand) (func() error, error) {
	all, err := n.HAProxies()
	if err != nil {
		return nil, err
	}
	if err := r.strike(n, everybody, atOnce, random); err != nil {
		return nil, err
	}
	// The port is free when the last process has ended.
	var taken net.Listener
	for end := time.Now().Add(time.Second); time.Now().Before(end); <-time.After(time.Millisecond) {
		if taken, err = net.Listen("tcp", n.HTTP()); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("take the port of %s, whose processes were %v: %w", n.Label(), all, err)
	}
	r.running.Go(func() {
		for {
			conn, err := taken.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	})
	return taken.Close, nil
}

// workerFrozen stops the worker for a moment. An idle connection whose time was over meanwhile is closed when it goes on, with the request that has arrived on it.
func workerFrozen(r *Run, n *node, _ *rand.Rand) (func() error, error) {
	id, err := n.Worker()
	if err != nil {
		return nil, err
	}
	over := r.account.openOnly(n.number-1, "worker frozen", loadgen.Race)
	err = syscall.Kill(id.PID, syscall.SIGSTOP)
	return func() error {
		defer r.untilServed(n, over, haproxy.Identity{})
		if id.Alive() {
			return syscall.Kill(id.PID, syscall.SIGCONT)
		}
		return nil
	}, err
}

// socketAway moves the worker's socket away for a while. A new worker may have made one meanwhile.
func socketAway(_ *Run, n *node, _ *rand.Rand) (func() error, error) {
	path, aside := n.WorkerSocket(), n.WorkerSocket()+".away"
	if err := os.Rename(path, aside); err != nil {
		return nil, err
	}
	return func() error {
		if _, err := os.Lstat(path); err == nil {
			return os.Remove(aside)
		}
		return os.Rename(aside, path)
	}, nil
}

// socketRemoved removes the worker's socket.
func socketRemoved(_ *Run, n *node, _ *rand.Rand) (func() error, error) {
	return nil, os.Remove(n.WorkerSocket())
}

// stateEmptied removes all that is in the state directory, under a HAProxy and an agent that run.
func stateEmptied(_ *Run, n *node, _ *rand.Rand) (func() error, error) {
	names, err := listed(n.StateDir)
	for _, name := range names {
		err = errors.Join(err, os.RemoveAll(filepath.Join(n.StateDir, name)))
	}
	return nil, err
}

// frontendClosed has HAProxy take no more connections. The worker goes on, so that any that answers a request afterwards will do.
func frontendClosed(r *Run, n *node, _ *rand.Rand) (func() error, error) {
	over := r.account.open(n.number-1, r.lastKill())
	answer, err := haproxy.Ask(n.WorkerSocket(), "disable frontend web")
	if err == nil && answer != "" {
		err = fmt.Errorf("close the frontend of %s: %s", n.Label(), answer)
	}
	r.untilServed(n, over, haproxy.Identity{})
	return nil, err
}

// nobody is an address where nobody listens.
const nobody = "127.251.0.1"

// slotChanged writes into the worker what nobody wants: into one of the slots of a service, so that others are left for its requests.
func slotChanged(_ *Run, n *node, random *rand.Rand) (func() error, error) {
	servers, err := haproxy.Servers(n.WorkerSocket(), "")
	if err != nil {
		return nil, err
	}
	service := services[random.IntN(len(services))]
	var ready []haproxy.Server
	for _, s := range servers {
		if s.State == haproxy.Ready && strings.HasSuffix(s.Backend, "_"+service+"_80") {
			ready = append(ready, s)
		}
	}
	if len(ready) < 2 {
		return nil, fmt.Errorf("%d slots of %s are ready: it is left alone", len(ready), service)
	}
	s := ready[random.IntN(len(ready))]
	what := []string{"state maint", "state drain", "weight 1", "addr " + nobody + " port 9"}[random.IntN(4)]
	answer, err := haproxy.Ask(n.WorkerSocket(), fmt.Sprintf("set server %s/%s %s", s.Backend, s.Name, what))
	if err == nil && strings.Contains(answer, "No such") {
		err = errors.New(answer)
	}
	return nil, err
}

// oldFile keeps the configuration, and reloads HAProxy with it some time later, as somebody does who restores a backup. A HAProxy that is told to reload while a new
// worker of it starts may lose the connections that this worker was given already (3.4 does, whoever runs it): those are charged to the fault.
func oldFile(r *Run, n *node, _ *rand.Rand) (func() error, error) {
	path := filepath.Join(n.StateDir, "haproxy.cfg")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return func() error {
		who, err := master(n)
		before, err2 := n.Worker()
		if err != nil || err2 != nil {
			return nil //nolint:nilerr // It is dead, or executes itself: nobody reloads it by hand then.
		}
		if n.mayReload(who[0], before) {
			r.charge(n, "reload by hand in a reload", before)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil //nolint:nilerr // The disk may be full just now.
		}
		return syscall.Kill(who[0].PID, syscall.SIGUSR2)
	}, nil
}

// mayReload says whether HAProxy is about to have another worker: it has started one already, or its configuration was written a moment ago.
func (n *node) mayReload(master, serving haproxy.Identity) bool {
	if newest(n).After(time.Now().Add(-2 * time.Second)) {
		return true
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", master.PID, master.PID))
	for _, word := range strings.Fields(string(text)) {
		pid, _ := strconv.Atoi(word)
		child, err := haproxy.Identify(pid)
		if err == nil && (len(child.Started) > len(serving.Started) || child.Started > serving.Started) {
			return true
		}
	}
	return false
}

// handMade is what somebody has written into a configuration.
const handMade = "# by hand"

func configurationEdited(_ *Run, n *node, random *rand.Rand) (func() error, error) {
	f, err := os.OpenFile(filepath.Join(n.StateDir, "haproxy.cfg"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	lines := []string{"", "listen by-hand\n    no-such-keyword\n", "backend by-hand\n    server x " + nobody + ":9\n"}
	_, err = f.WriteString(handMade + "\n" + lines[random.IntN(len(lines))])
	return nil, errors.Join(err, f.Close())
}

// diskFull fills the node's disk.
func diskFull(r *Run, n *node, _ *rand.Rand) (func() error, error) {
	path := filepath.Join(n.small, "filler")
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	chunk := make([]byte, 64<<10)
	for err == nil {
		_, err = f.Write(chunk)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		r.t.Errorf("fill the disk of %s: %v", n.Label(), err)
	}
	_ = f.Close()
	return func() error { return os.Remove(path) }, nil
}
