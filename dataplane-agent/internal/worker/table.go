package worker

import (
	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
)

// group sorts servers into tables. Those that are not named as ours are, or not without gaps, end their table: what follows is read as missing.
func group(servers []haproxy.Server) map[string][]plan.Server {
	byBackend := map[string]map[int]plan.Server{}
	for _, s := range servers {
		index, ok := render.ServerIndex(s.Name)
		if !ok {
			continue
		}
		table := byBackend[s.Backend]
		if table == nil {
			table = map[int]plan.Server{}
			byBackend[s.Backend] = table
		}
		table[index] = server(s)
	}
	out := make(map[string][]plan.Server, len(byBackend))
	for b, table := range byBackend {
		list := make([]plan.Server, 0, len(table))
		for i := range len(table) {
			s, ok := table[i]
			if !ok {
				break
			}
			list = append(list, s)
		}
		out[b] = list
	}
	return out
}

func server(s haproxy.Server) plan.Server {
	state := snapshot.Ready
	switch {
	case s.Maint:
		state = snapshot.Free
	case s.Drain:
		state = snapshot.Drain
	}
	return plan.Server{State: state, Address: s.Address(), Weight: uint16(s.Weight)} //nolint:gosec // At most 256.
}
