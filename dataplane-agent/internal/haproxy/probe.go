package haproxy

import (
	"context"
	"strings"
)

// Capabilities is what a worker was found to be able to do at run time, by trying and not by its version.
type Capabilities struct {
	AddServer   bool
	MapVersions bool
	Wait        bool
	AddBackend  bool
}

// Probe tries a worker out on a backend that takes no requests, and leaves nothing behind.
func (r *Runtime) Probe(ctx context.Context, backend string) (Capabilities, error) {
	server := backend + "/probe"
	replies, err := r.Do(ctx, []string{
		"del server " + server, // from a probe that was broken off
		"add server " + server + " 192.0.2.1:1 id 1 weight 100",
		"del server " + server,
		"prepare map berth-probe.map",
		"wait 1ms",
		"add backend",
	})
	if err != nil {
		return Capabilities{}, err
	}
	known := func(i int) bool { return !strings.HasPrefix(strings.TrimSpace(replies[i].Text), "Unknown command") }
	return Capabilities{
		AddServer: replies[1].Err == nil && replies[2].Err == nil, MapVersions: known(3), Wait: known(4), AddBackend: known(5),
	}, nil
}
