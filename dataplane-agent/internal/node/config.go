package node

import (
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"time"

	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/dataplane-agent/internal/listener"
)

// Config is what a node is started with. The zero durations and counts stand for the defaults.
type Config struct {
	// HAProxy is the path of the binary.
	HAProxy string
	// MasterSocket is set to attach to a HAProxy that something else started; the agent then never starts one.
	MasterSocket string
	// Settings has the state directory, ports and addresses.
	Settings render.Settings
	// AddServers allows `add server`, where the worker can.
	AddServers bool
	// ReloadSpacing is the least time from the end of one reload to the start of the next. Default 1 s.
	ReloadSpacing time.Duration
	// MaxOldWorkers is the number of leaving workers from which reloads wait. Default 8.
	MaxOldWorkers int
	// RefreshFiles is how long the configuration on disk may lag behind runtime changes. Default 2 s.
	RefreshFiles time.Duration
	// Watch is how often the node looks whether its worker is still the one it knows. Default 500 ms.
	Watch time.Duration
	// Verify is how often everything is read back from a worker that was left alone. Default 30 s.
	Verify time.Duration
	// ReloadTimeout bounds one reload or start. Default 60 s.
	ReloadTimeout time.Duration
	// CommandTimeout bounds one exchange with a worker. Default 5 s.
	CommandTimeout time.Duration
	// SocketGone is how long the file of a socket may be missing before a reload makes it anew. Default 2 s.
	SocketGone time.Duration
	// Grace is how long an agent that comes back waits for its plane before it relies on a journal that the worker is at odds with. Default 3 s.
	Grace time.Duration
	// Slow is how long a start may take before that is told. Default 5 s.
	Slow time.Duration
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&c.ReloadSpacing, time.Second)
	set(&c.RefreshFiles, 2*time.Second)
	set(&c.Watch, 500*time.Millisecond)
	set(&c.Verify, 30*time.Second)
	set(&c.ReloadTimeout, time.Minute)
	set(&c.CommandTimeout, 5*time.Second)
	set(&c.SocketGone, 2*time.Second)
	set(&c.Grace, 3*time.Second)
	set(&c.Slow, 5*time.Second)
	if c.MaxOldWorkers == 0 {
		c.MaxOldWorkers = 8
	}
	return c
}

func (c Config) masterSocket() string {
	if c.MasterSocket != "" {
		return c.MasterSocket
	}
	return filepath.Join(c.Settings.StateDir, "master.sock")
}

// listenerPlace is where HAProxy listens: HOST:PORT, and the port.
type listenerPlace struct {
	address string
	port    int
}

// places are where HAProxy listens.
func (c Config) places() []listenerPlace {
	var out []listenerPlace
	for _, p := range []int{c.Settings.HTTPPort, c.Settings.HTTPSPort} {
		if p > 0 {
			out = append(out, listenerPlace{net.JoinHostPort(c.Settings.BindAddress, strconv.Itoa(p)), p})
		}
	}
	return out
}

// addresses are the places' HOST:PORT.
func (c Config) addresses() []string {
	var out []string
	for _, p := range c.places() {
		out = append(out, p.address)
	}
	return out
}

// listeners are the addresses that no slot may have.
func (c Config) listeners() listener.Set {
	bind, _ := netip.ParseAddr(c.Settings.BindAddress) // an empty one stands for all addresses
	var ports []uint16
	for _, p := range []int{c.Settings.HTTPPort, c.Settings.HTTPSPort} {
		if p > 0 {
			ports = append(ports, uint16(p)) //nolint:gosec // Flags are checked to be ports.
		}
	}
	return listener.New(bind, ports...)
}
