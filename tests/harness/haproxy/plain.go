package haproxy

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// News is how a plain HAProxy learns of pods.
type News string

// The two ways that people use.
const (
	ByReload  News = "reload"  // the config names the ready pods; a change rewrites it and reloads
	ByRuntime News = "runtime" // a row of server lines is written through the runtime socket
)

// PlainOptions describes a plain HAProxy.
type PlainOptions struct {
	Binary   string
	Dir      string // for its config, sockets and log
	Address  string // host:port that it listens on
	News     News   // ByReload when empty
	Slots    int    // server lines for each service with ByRuntime; 10 when zero
	Services map[string]string
	// Defaults are lines for the defaults section, after mode and timeouts; nil means `retries 3` and `option redispatch`.
	Defaults []string
	// TLSAddress listens for HTTPS besides, with HTTP/2 by ALPN, and Certificate, a PEM file with chain and key.
	TLSAddress, Certificate string
}

// Plain is an HAProxy that a person might have set up by hand: no Berth, a classic config, the services chosen by host.
type Plain struct {
	options PlainOptions
	log     *os.File

	mu      sync.Mutex // guards what follows, and makes one change after the other
	command *exec.Cmd
	exited  chan struct{} // closed when the command has been waited for
	ready   map[string][]netip.AddrPort
	slots   map[string][]netip.AddrPort // with ByRuntime: what was written into each server line
}

// StartPlain starts it and returns when it serves. Services maps each service (as pods name it) to its host; they have no
// pods at first.
func StartPlain(o PlainOptions) (*Plain, error) {
	if o.News == "" {
		o.News = ByReload
	}
	if o.Slots == 0 {
		o.Slots = 10
	}
	if o.Defaults == nil {
		o.Defaults = []string{"retries 3", "option redispatch"}
	}
	p := &Plain{options: o, exited: make(chan struct{}), ready: map[string][]netip.AddrPort{}, slots: map[string][]netip.AddrPort{}}
	if err := p.writeConfig(); err != nil {
		return nil, err
	}
	var err error
	if p.log, err = os.Create(filepath.Join(o.Dir, "haproxy.log")); err != nil {
		return nil, fmt.Errorf("open the plain HAProxy's log: %w", err)
	}
	if err := p.run(); err != nil {
		close(p.exited)
		return nil, errors.Join(err, p.log.Close())
	}
	if err := p.waitForWorker(0); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

func (p *Plain) run() error {
	c := exec.Command(p.options.Binary, "-W", "-S", p.Master(), "-f", p.config())
	c.Stdout, c.Stderr = p.log, p.log
	if err := c.Start(); err != nil {
		return fmt.Errorf("start the plain HAProxy: %w", err)
	}
	exited := make(chan struct{})
	p.command, p.exited = c, exited
	go func() {
		_ = c.Wait() // how it ended is in its log
		close(exited)
	}()
	return nil
}

// Kill kills it with all of its workers, as kill -9 does; Set fails until Restart.
func (p *Plain) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, err := FindByPath(p.config())
	for _, id := range all {
		_ = syscall.Kill(id.PID, syscall.SIGKILL) // gone meanwhile is what is wanted
	}
	if left := waitForEnd(all, askTime); len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("processes %v of the plain HAProxy survived kill -9", left))
	}
	<-p.exited
	return err
}

// Restart starts it again after Kill, as what watches over services does, with the pods that it knew last, and returns when it serves.
func (p *Plain) Restart() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.writeConfig(); err != nil {
		return err
	}
	if err := p.run(); err != nil {
		return err
	}
	return p.waitForWorker(0)
}

// Master is the master's socket, Worker the worker's.
func (p *Plain) Master() string { return filepath.Join(p.options.Dir, "master.sock") }

// Worker is the socket on which the worker answers.
func (p *Plain) Worker() string { return filepath.Join(p.options.Dir, "worker.sock") }

// Address is where it serves.
func (p *Plain) Address() string { return p.options.Address }

// TLSAddress is where it serves HTTPS, if it does.
func (p *Plain) TLSAddress() string { return p.options.TLSAddress }

func (p *Plain) config() string { return filepath.Join(p.options.Dir, "haproxy.cfg") }

// Set tells it the ready pods of a service, and returns when it has taken them.
func (p *Plain) Set(service string, ready []netip.AddrPort) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.options.Services[service]; !ok {
		return fmt.Errorf("the plain HAProxy has no service %s", service)
	}
	p.ready[service] = slices.Clone(ready)
	if p.options.News == ByReload {
		return p.reloadLocked()
	}
	return p.writeSlotsLocked(service)
}

// Reload makes a new worker from the newest config and returns when it serves.
func (p *Plain) Reload() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reloadLocked()
}

func (p *Plain) reloadLocked() error {
	if err := p.writeConfig(); err != nil {
		return err
	}
	before, err := WorkerPID(p.Worker())
	if err != nil {
		return err
	}
	// An old version's master refuses connections while it executes itself again after the reload before.
	err = poll(askTime, func() (bool, error) {
		_, err := Ask(p.Master(), "reload")
		return !errors.Is(err, syscall.ECONNREFUSED), err
	})
	if err != nil {
		return err
	}
	return p.waitForWorker(before)
}

// waitForWorker waits for a worker that is not the one before. Versions before 2.7 do not answer a reload, so the worker
// itself is looked at with all of them.
func (p *Plain) waitForWorker(before int) error {
	err := poll(askTime, func() (bool, error) {
		select {
		case <-p.exited:
			return true, errors.New("it ended")
		default:
		}
		pid, err := WorkerPID(p.Worker())
		if err == nil && pid == before {
			err = fmt.Errorf("worker %d still answers", pid)
		}
		return err == nil, err
	})
	if err == nil {
		return nil
	}
	log, _ := os.ReadFile(p.log.Name())
	return fmt.Errorf("wait for a new worker of the plain HAProxy: %w; its log:\n%s", err, log)
}

// Stop ends it and its workers, old ones too.
func (p *Plain) Stop() error {
	all, err := FindByPath(p.config())
	if err == nil {
		err = End(all, 5*time.Second)
	}
	p.mu.Lock()
	exited := p.exited
	p.mu.Unlock()
	<-exited
	return errors.Join(err, p.log.Close())
}

func (p *Plain) writeSlotsLocked(service string) error {
	slots := p.slots[service]
	want := p.ready[service]
	var commands []string
	set := func(i int, words string) {
		commands = append(commands, fmt.Sprintf("set server %s/s%d %s", p.backend(service), i+1, words))
	}
	// New pods first, into free lines, then the old ones out: as a careful script does.
	for _, a := range want {
		if slices.Contains(slots, a) {
			continue
		}
		i := slices.Index(slots, netip.AddrPort{})
		if i < 0 {
			return fmt.Errorf("no free server line for %s of %s", a, service)
		}
		slots[i] = a
		set(i, fmt.Sprintf("addr %s port %d", a.Addr(), a.Port()))
		set(i, "state ready")
	}
	for i, a := range slots {
		if a.IsValid() && !slices.Contains(want, a) {
			slots[i] = netip.AddrPort{}
			set(i, "state maint")
		}
	}
	for _, c := range commands {
		if _, err := Ask(p.Worker(), c); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plain) backend(service string) string { return strings.ReplaceAll(service, "/", "_") }

func (p *Plain) writeConfig() error {
	var b strings.Builder
	fmt.Fprintf(&b, "global\n  nbthread 2\n  stats socket %s mode 600 level admin\n", p.Worker())
	fmt.Fprintf(&b, "defaults\n  mode http\n  timeout connect 500ms\n  timeout client 60s\n  timeout server 60s\n  timeout http-keep-alive 5s\n")
	for _, line := range p.options.Defaults {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	fmt.Fprintf(&b, "frontend http\n  bind %s\n", p.options.Address)
	if p.options.TLSAddress != "" {
		fmt.Fprintf(&b, "  bind %s ssl crt %s alpn h2,http/1.1\n", p.options.TLSAddress, p.options.Certificate)
	}
	services := slices.Sorted(maps.Keys(p.options.Services))
	for _, s := range services {
		fmt.Fprintf(&b, "  use_backend %s if { req.hdr(host),field(1,:) -i %s }\n", p.backend(s), p.options.Services[s])
	}
	for _, s := range services {
		fmt.Fprintf(&b, "backend %s\n", p.backend(s))
		if p.options.News == ByReload {
			for i, a := range p.ready[s] {
				fmt.Fprintf(&b, "  server s%d %s\n", i+1, a)
			}
			continue
		}
		if p.slots[s] == nil {
			p.slots[s] = make([]netip.AddrPort, p.options.Slots)
		}
		for i, a := range p.slots[s] {
			if a.IsValid() {
				fmt.Fprintf(&b, "  server s%d %s\n", i+1, a)
			} else {
				fmt.Fprintf(&b, "  server s%d 192.0.2.1:1 disabled\n", i+1)
			}
		}
	}
	if err := os.WriteFile(p.config(), []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("write the plain HAProxy's config: %w", err)
	}
	return nil
}
