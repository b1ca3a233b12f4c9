package haproxy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// Capabilities is what a worker was found to be able to do at run time, by trying and not by its version.
type Capabilities struct {
	AddServer   bool
	MapVersions bool
	Wait        bool
	AddBackend  bool
	// AddServerID says that an added server takes the id that it is given, which consistent hashing goes by.
	AddServerID bool
	// Certificates says that certificates can be written.
	Certificates bool
}

// The server that is tried. Its id is out of the way of a backend's own servers.
const (
	probeServer = "probe"
	probeID     = 32001
)

// Probe tries a worker out on a backend that takes no requests, and leaves nothing behind.
func (r *Runtime) Probe(ctx context.Context, backend string) (Capabilities, error) {
	server := backend + "/" + probeServer
	replies, err := r.Do(ctx, []string{
		"set server " + server + " state maint", // this and the next are for a probe that was broken off
		"del server " + server,
		"add server " + server + " 192.0.2.1:1 id " + strconv.Itoa(probeID) + " weight 100",
		"show servers state " + backend,
		"del server " + server,
		"prepare map berth-probe.map",
		"wait 1ms",
		"add backend",
		"abort ssl cert berth-probe.pem",
	})
	if err != nil {
		return Capabilities{}, err
	}
	added, listed, deleted := replies[2], replies[3], replies[4]
	if added.Err == nil && deleted.Err != nil {
		return Capabilities{}, fmt.Errorf("take the server away again that was tried: %w", deleted.Err)
	}
	known := func(i int) bool { return !errors.Is(replies[i].Err, ErrUnknownCommand) }
	return Capabilities{
		AddServer: added.Err == nil, AddServerID: added.Err == nil && hasServer(listed.Text, probeServer, probeID),
		MapVersions: known(5), Wait: known(6), AddBackend: known(7), Certificates: known(8),
	}, nil
}

func hasServer(text, name string, id int) bool {
	servers, err := ParseServersState(text)
	if err != nil {
		return false
	}
	for _, s := range servers {
		if s.Name == name {
			return s.ID == id
		}
	}
	return false
}
