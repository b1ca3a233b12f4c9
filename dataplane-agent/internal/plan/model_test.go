package plan_test

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
)

// worker is a model of what HAProxy does with the commands of a plan.
type worker struct {
	backends map[string][]plan.Server
	// maps by file.
	maps map[string]map[string]string
}

func newWorker() *worker {
	return &worker{backends: map[string][]plan.Server{}, maps: map[string]map[string]string{}}
}

// run applies one command as HAProxy does, and fails on what HAProxy would refuse.
func (w *worker) run(line string) error {
	f := strings.Fields(line)
	switch f[0] + " " + f[1] {
	case "set server":
		return w.setServer(f[2], f[3:])
	case "add server":
		return w.addServer(f[2], f[3:])
	case "enable health":
		_, _, err := w.find(f[2])
		return err
	case "add map", "set map", "del map":
		return w.changeMap(f)
	}
	return fmt.Errorf("unknown command %q", line)
}

func (w *worker) find(name string) (backend string, index int, err error) {
	backend, server, _ := strings.Cut(name, "/")
	index, ok := render.ServerIndex(server)
	if !ok || index >= len(w.backends[backend]) {
		return "", 0, fmt.Errorf("no such server %s", name)
	}
	return backend, index, nil
}

func (w *worker) setServer(name string, rest []string) error {
	backend, i, err := w.find(name)
	if err != nil {
		return err
	}
	s := &w.backends[backend][i]
	switch rest[0] {
	case "state":
		s.State = map[string]snapshot.SlotState{"ready": snapshot.Ready, "drain": snapshot.Drain, "maint": snapshot.Free}[rest[1]]
	case "weight":
		n, err := strconv.ParseUint(rest[1], 10, 16)
		if err != nil {
			return err
		}
		s.Weight = uint16(n)
	case "addr":
		addr, err := netip.ParseAddr(rest[1])
		if err != nil {
			return err
		}
		port := s.Address.Port()
		if len(rest) == 4 {
			n, err := strconv.ParseUint(rest[3], 10, 16)
			if err != nil {
				return err
			}
			port = uint16(n)
		}
		s.Address = netip.AddrPortFrom(addr, port)
	default:
		return fmt.Errorf("unknown keyword %q", rest[0])
	}
	return nil
}

func (w *worker) addServer(name string, rest []string) error {
	backend, server, _ := strings.Cut(name, "/")
	if index, ok := render.ServerIndex(server); !ok || index != len(w.backends[backend]) {
		return fmt.Errorf("add server %s: the worker has %d", name, len(w.backends[backend]))
	}
	addr, err := netip.ParseAddrPort(rest[0])
	if err != nil {
		return err
	}
	s := plan.Server{State: snapshot.Free, Address: addr, Weight: 1}
	for i, word := range rest {
		if word == "weight" {
			n, err := strconv.ParseUint(rest[i+1], 10, 16)
			if err != nil {
				return err
			}
			s.Weight = uint16(n)
		}
		if word == "disabled" || word == "enabled" {
			return fmt.Errorf("add server %s: HAProxy refuses %q", name, word)
		}
	}
	w.backends[backend] = append(w.backends[backend], s)
	return nil
}

func (w *worker) changeMap(f []string) error {
	m := w.maps[f[2]]
	if m == nil {
		return fmt.Errorf("unknown map %s", f[2])
	}
	_, had := m[f[3]]
	switch {
	case f[0] == "add" && had:
		return fmt.Errorf("%s twice in %s", f[3], f[2])
	case f[0] != "add" && !had:
		return fmt.Errorf("%s not in %s", f[3], f[2])
	case f[0] == "del":
		delete(m, f[3])
	default:
		m[f[3]] = f[4]
	}
	return nil
}

// ready counts the servers of a backend that take traffic.
func (w *worker) ready(backend string) int {
	n := 0
	for _, s := range w.backends[backend] {
		if s.State == snapshot.Ready {
			n++
		}
	}
	return n
}
