package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/berth-proxy/berth/tests/cluster/manifest"
	"github.com/berth-proxy/berth/tests/harness/claim"
	"github.com/berth-proxy/berth/tests/pod"
)

// Options says how a cluster runs its pods.
type Options struct {
	// Dir is the directory source's folder. It must exist.
	Dir string
	// Processes runs each pod as a process of its own (the binary's main must call pod.Main).
	Processes bool
	// Prefix is where pods get their addresses, which must be local. The zero value is a loopback range that no other
	// test process uses.
	Prefix netip.Prefix
	// Port is the pods' port; zero is claim.PodPort.
	Port uint16
	// ReuseAddresses gives a new pod the address that was given back last, as some networks do: a proxy that holds on to
	// a stale address then reaches a stranger.
	ReuseAddresses bool
}

// An Instance is a running pod, in this process or in its own.
type Instance interface {
	Config() pod.Config
	Requests() (int64, error)
	SetMode(pod.Mode) error
	Terminate(ctx context.Context, serveOn time.Duration) error
	Kill() error
}

// A Cluster is a set of deployments in one directory source.
type Cluster struct {
	manifest.Dir
	options Options

	mu     sync.Mutex // guards what follows
	next   netip.Addr
	free   []netip.Addr
	living map[Instance]struct{}
	closed bool
}

// New makes a cluster without pods.
func New(o Options) *Cluster {
	if o.Port == 0 {
		o.Port = claim.PodPort
	}
	c := &Cluster{Dir: manifest.Dir(o.Dir), options: o, living: map[Instance]struct{}{}}
	if o.Prefix.IsValid() {
		c.next = o.Prefix.Masked().Addr()
	}
	return c
}

// Close kills every pod that still lives. The files stay.
func (c *Cluster) Close() error {
	c.mu.Lock()
	c.closed = true
	var pods []Instance
	for p := range c.living {
		pods = append(pods, p)
	}
	c.mu.Unlock()
	var errs []error
	for _, p := range pods {
		errs = append(errs, p.Kill())
		c.release(p)
	}
	return errors.Join(errs...)
}

// StartPod starts a pod that no slice names, on an address of its own.
func (c *Cluster) StartPod(name, service string) (Instance, error) {
	address, err := c.takeAddress()
	if err != nil {
		return nil, fmt.Errorf("find an address for pod %s: %w", name, err)
	}
	config := pod.Config{Name: name, Service: service, Address: netip.AddrPortFrom(address, c.options.Port)}
	p, err := c.start(config)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.living[p] = struct{}{}
	closed := c.closed
	c.mu.Unlock()
	if closed {
		c.release(p)
		return nil, errors.Join(fmt.Errorf("start pod %s: the cluster is closed", name), p.Kill())
	}
	return p, nil
}

func (c *Cluster) start(config pod.Config) (Instance, error) {
	if c.options.Processes {
		return pod.StartProcess(config)
	}
	return pod.Start(config)
}

// release forgets a pod that is gone; its address may be given to another.
func (c *Cluster) release(p Instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.living[p]; !ok {
		return
	}
	delete(c.living, p)
	c.free = append(c.free, p.Config().Address.Addr())
}

func (c *Cluster) takeAddress() (netip.Addr, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.free); n > 0 && c.options.ReuseAddresses {
		a := c.free[n-1]
		c.free = c.free[:n-1]
		return a, nil
	}
	if c.next.IsValid() {
		c.next = c.next.Next()
		if !c.options.Prefix.Contains(c.next) {
			return netip.Addr{}, fmt.Errorf("all addresses of %s have been handed out", c.options.Prefix)
		}
		return c.next, nil
	}
	block, err := claim.Mine()
	if err != nil {
		return netip.Addr{}, err
	}
	return block.Address()
}
