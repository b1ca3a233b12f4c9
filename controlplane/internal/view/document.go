package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/desired"
	"github.com/berth-proxy/berth/controlplane/internal/explain"
)

// State is what is to be shown of a fleet: a revision and a generation, and what the compiler says of them.
type State struct {
	Fleet string
	// Home is the source whose objects are told without their cluster.
	Home       string
	Revision   *snapshot.Revision
	Generation *snapshot.Generation
	Backends   []compile.BackendInfo
	Routes     []compile.RouteInfo
	Problems   []compile.Problem
	Sources    []Source
}

// Document is what `berthctl render -o json` prints.
type Document struct {
	Fleet string `json:"fleet"`
	// Revision is the digest in hex.
	Revision string    `json:"revision"`
	Backends []Backend `json:"backends"`
	Routes   []Route   `json:"routes"`
	Rejected []Object  `json:"rejected"`
	Warned   []Object  `json:"warned"`
	Sources  []Source  `json:"sources"`
}

// Backend is a backend with its slots.
type Backend struct {
	Name string `json:"name"`
	// Service is namespace/name:port.
	Service string `json:"service"`
	Slots   []Slot `json:"slots"`
}

// Slot is one slot. A free one has no more than its number, its state and since when.
type Slot struct {
	// Slot counts from 1.
	Slot     int    `json:"slot"`
	State    string `json:"state"`
	Address  string `json:"address,omitempty"`
	Port     uint16 `json:"port,omitempty"`
	Weight   uint16 `json:"weight,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// Since is the generation that freed it or let it drain.
	Since uint64 `json:"since,omitempty"`
}

// Route is a route. Host is "" for any; Match is Exact, Prefix, or Default for what a host's unmatched paths go to.
type Route struct {
	Host    string `json:"host"`
	Path    string `json:"path"`
	Match   string `json:"match"`
	Backend string `json:"backend"`
}

// Object is "Kind namespace/name" with the reason why not all of it is in force.
type Object struct {
	Object string `json:"object"`
	Reason string `json:"reason"`
	// Cluster is the source that it comes from, where that is not the home source: two clusters may have an object of one name.
	Cluster string `json:"cluster,omitempty"`
}

// Source is a source; Error is empty while all of it can be read.
type Source struct {
	Name  string `json:"name"`
	Error string `json:"error"`
}

// Of makes the document of a state.
func Of(s State) Document {
	d := Document{
		Fleet: s.Fleet, Revision: s.Revision.Digest().String(),
		Backends: backends(s), Routes: routes(s.Routes), Rejected: []Object{}, Warned: []Object{}, Sources: slices.Clone(s.Sources),
	}
	for _, p := range s.Problems {
		o := Object{Object: p.Object, Reason: p.Reason}
		if p.Cluster != s.Home {
			o.Cluster = p.Cluster
		}
		if p.State == desired.Rejected {
			d.Rejected = append(d.Rejected, o)
		} else {
			d.Warned = append(d.Warned, o)
		}
	}
	if d.Sources == nil {
		d.Sources = []Source{}
	}
	slices.SortFunc(d.Sources, func(a, b Source) int { return cmp.Compare(a.Name, b.Name) })
	return d
}

func backends(s State) []Backend {
	services := make(map[string]string, len(s.Backends))
	for _, b := range s.Backends {
		services[b.Name] = b.Service
	}
	list := []Backend{}
	for b := range snapshot.Of[*snapshot.Backend](s.Revision, snapshot.KindBackend) {
		if b.Name == explain.Unavailable {
			continue
		}
		list = append(list, Backend{Name: b.Name, Service: services[b.Name], Slots: slots(s.Generation.Table(b.Name))})
	}
	return list
}

func slots(t *snapshot.Table) []Slot {
	if t == nil {
		return []Slot{}
	}
	list := make([]Slot, len(t.Slots))
	for i, s := range t.Slots {
		list[i] = Slot{Slot: i + 1, State: s.State.String(), Port: s.Port, Weight: s.Weight, Endpoint: s.Endpoint, Since: s.Since}
		if s.State != snapshot.Free {
			list[i].Address = s.Address.String()
		}
	}
	return list
}

// routes leaves out what a host's prefix "/" never lets through to its default. The default of the host "" is also that of all other hosts.
func routes(infos []compile.RouteInfo) []Route {
	root := map[string]bool{}
	for _, r := range infos {
		if r.Match == desired.Prefix && r.Path == "/" && r.Host != "" {
			root[r.Host] = true
		}
	}
	list := []Route{}
	for _, r := range infos {
		if r.Match != desired.Default || !root[r.Host] {
			list = append(list, Route{Host: r.Host, Path: r.Path, Match: r.Match.String(), Backend: r.Backend})
		}
	}
	slices.SortFunc(list, func(a, b Route) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Match, b.Match))
	})
	return list
}

// JSON writes the document, indented, with a line break at its end.
func (d Document) JSON() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		panic("BUG: view: write a document: " + err.Error())
	}
	return b.Bytes()
}
