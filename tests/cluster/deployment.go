package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/berth-proxy/berth/tests/cluster/manifest"
)

const (
	defaultPort = 80
	perSlice    = 100 // as the endpoint slice controller does
)

// Spec describes a deployment and its service.
type Spec struct {
	Namespace   string
	Name        string
	Port        int    // the service's port; 80 when zero
	PortName    string // empty for a service with one port
	AppProtocol string
}

// An Endpoint is what a deployment's slices say of one pod.
type Endpoint struct {
	Pod                         string
	Address                     netip.AddrPort
	Ready, Serving, Terminating bool
}

// A Deployment is a set of equal pods behind one service.
type Deployment struct {
	Spec    Spec
	cluster *Cluster

	writing sync.Mutex // makes the newest state the last one that is written (CLU-4); taken before mu, never inside it
	written []string   // the slices' contents on disk, guarded by writing

	mu      sync.Mutex // guards what follows
	members []*member
	made    int // how many pods there have been
	changed chan struct{}
}

type member struct {
	instance Instance
	endpoint Endpoint
	slice    int // which of the service's slices names it, from 0
}

// Deploy writes a service and starts its pods. It returns when every pod answers and the slices say so.
func (c *Cluster) Deploy(ctx context.Context, spec Spec, replicas int) (*Deployment, error) {
	spec.Port = orElse(spec.Port, defaultPort)
	d := &Deployment{Spec: spec, cluster: c, changed: make(chan struct{})}
	err := c.Put(manifest.Service{
		Metadata: manifest.Meta{Namespace: spec.Namespace, Name: spec.Name},
		Spec: manifest.ServiceSpec{Ports: []manifest.ServicePort{{
			Name: spec.PortName, Port: spec.Port, TargetPort: int(c.options.Port), AppProtocol: spec.AppProtocol,
		}}},
	})
	if err != nil {
		return nil, err
	}
	if replicas == 0 {
		return d, d.publish()
	}
	return d, d.Scale(ctx, replicas, Ending{})
}

// Service is the deployment's name as its pods say it: namespace/name.
func (d *Deployment) Service() string { return d.Spec.Namespace + "/" + d.Spec.Name }

// Endpoints returns what the slices say now, and a channel that is closed when that is no longer so.
func (d *Deployment) Endpoints() ([]Endpoint, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	endpoints := make([]Endpoint, len(d.members))
	for i, m := range d.members {
		endpoints[i] = m.endpoint
	}
	return endpoints, d.changed
}

// Ready returns the addresses of the ready endpoints.
func (d *Deployment) Ready() []netip.AddrPort {
	var ready []netip.AddrPort
	endpoints, _ := d.Endpoints()
	for _, e := range endpoints {
		if e.Ready {
			ready = append(ready, e.Address)
		}
	}
	return ready
}

// Pods returns the pods that the slices name, oldest first.
func (d *Deployment) Pods() []Instance {
	d.mu.Lock()
	defer d.mu.Unlock()
	pods := make([]Instance, len(d.members))
	for i, m := range d.members {
		pods[i] = m.instance
	}
	return pods
}

// start brings up one pod that no slice names yet and returns when it answers (CLU-1).
func (d *Deployment) start(ctx context.Context) (*member, error) {
	d.mu.Lock()
	d.made++
	name := fmt.Sprintf("%s-%d", d.Spec.Name, d.made)
	d.mu.Unlock()
	p, err := d.cluster.StartPod(name, d.Service())
	if err != nil {
		return nil, err
	}
	if err := answers(ctx, p); err != nil {
		err = errors.Join(err, p.Kill())
		d.cluster.release(p)
		return nil, err
	}
	e := Endpoint{Pod: name, Address: p.Config().Address, Ready: true, Serving: true}
	return &member{instance: p, endpoint: e}, nil
}

// change edits the members and writes what that changes in the slices.
func (d *Deployment) change(edit func(members []*member) []*member) error {
	d.mu.Lock()
	d.members = edit(d.members)
	d.mu.Unlock()
	return d.publish()
}

// add puts members into the first slices that have room.
func add(fresh ...*member) func([]*member) []*member {
	return func(members []*member) []*member {
		held := map[int]int{}
		for _, m := range members {
			held[m.slice]++
		}
		for _, m := range fresh {
			for held[m.slice] == perSlice {
				m.slice++
			}
			held[m.slice]++
		}
		return append(members, fresh...)
	}
}

func remove(gone ...*member) func([]*member) []*member {
	return func(members []*member) []*member {
		return slices.DeleteFunc(members, func(m *member) bool { return slices.Contains(gone, m) })
	}
}

func terminating(leaving ...*member) func([]*member) []*member {
	return func(members []*member) []*member {
		for _, m := range leaving {
			m.endpoint.Ready, m.endpoint.Terminating = false, true
		}
		return members
	}
}

// publish writes the slices whose content changed and wakes who waits for news.
func (d *Deployment) publish() error {
	d.writing.Lock()
	defer d.writing.Unlock()
	d.mu.Lock()
	groups := make([][]Endpoint, max(1, len(d.written)))
	for _, m := range d.members {
		for len(groups) <= m.slice {
			groups = append(groups, nil)
		}
		groups[m.slice] = append(groups[m.slice], m.endpoint)
	}
	woken := d.changed
	d.changed = make(chan struct{})
	d.mu.Unlock()
	defer close(woken)

	for i, endpoints := range groups {
		if len(d.written) <= i {
			d.written = append(d.written, "")
		}
		slice := d.slice(i, endpoints)
		text, err := manifest.Encode(slice)
		if err != nil {
			return err
		}
		if string(text) == d.written[i] {
			continue
		}
		if err := d.cluster.Put(slice); err != nil {
			return err
		}
		d.written[i] = string(text)
	}
	return nil
}

func (d *Deployment) slice(i int, endpoints []Endpoint) manifest.EndpointSlice {
	o := manifest.EndpointSlice{
		Metadata: manifest.Meta{
			Namespace: d.Spec.Namespace,
			Name:      fmt.Sprintf("%s-%d", d.Spec.Name, i+1),
			Labels:    map[string]string{"kubernetes.io/service-name": d.Spec.Name},
		},
		AddressType: "IPv4",
		Ports:       []manifest.EndpointPort{{Name: d.Spec.PortName, Port: int(d.cluster.options.Port), Protocol: "TCP"}},
		Endpoints:   make([]manifest.Endpoint, 0, len(endpoints)),
	}
	for _, e := range endpoints {
		if e.Address.Addr().Is6() {
			o.AddressType = "IPv6"
		}
		o.Endpoints = append(o.Endpoints, manifest.Endpoint{
			Addresses:  []string{e.Address.Addr().String()},
			Conditions: manifest.Conditions{Ready: &e.Ready, Serving: &e.Serving, Terminating: &e.Terminating},
			TargetRef:  &manifest.TargetRef{Kind: "Pod", Namespace: d.Spec.Namespace, Name: e.Pod},
		})
	}
	return o
}
