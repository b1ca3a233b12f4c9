package app

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/api/transport"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/node"
)

// Config is all that an agent is started with. Validate makes it usable.
type Config struct {
	// Planes are HOST:PORT of control planes. Without any the agent runs HAProxy from its own disk.
	Planes      []string
	Fleet, Node string
	StateDir    string
	// HAProxy is the binary, MasterSocket that of a HAProxy which something else runs.
	HAProxy, MasterSocket string
	HTTPPort, HTTPSPort   int
	// BindAddress is an IP address, or empty for all.
	BindAddress    string
	AddServers     bool
	MetricsAddress string
	TLS            transport.Files
	LogLevel       string
	// Version is the agent's own.
	Version string
}

// maxSocketPath is what the kernel takes as the path of a unix socket; HAProxy adds a suffix to it while it starts.
const maxSocketPath = 107 - len(".12345678.tmp")

// Validate finds what cannot be, and fills in what follows from the rest.
func (c *Config) Validate() error {
	var errs []error
	for name, v := range map[string]string{"--fleet": c.Fleet, "--node": c.Node} {
		if v == "" || len(v) > wire.MaxNodeName || strings.ContainsAny(v, " \t\r\n\x00/") {
			errs = append(errs, fmt.Errorf("%s %q: give a name of 1 to %d bytes without spaces and slashes", name, v, wire.MaxNodeName))
		}
	}
	for _, p := range c.Planes {
		if _, _, err := net.SplitHostPort(p); err != nil {
			errs = append(errs, fmt.Errorf("--plane %q: give HOST:PORT", p))
		}
	}
	errs = append(errs, c.validatePorts()...)
	errs = append(errs, c.validatePaths()...)
	return errors.Join(errs...)
}

func (c *Config) validatePorts() []error {
	var errs []error
	for name, p := range map[string]int{"--http-port": c.HTTPPort, "--https-port": c.HTTPSPort} {
		if p < 0 || p > 65535 {
			errs = append(errs, fmt.Errorf("%s %d: give a port from 1 to 65535, or 0 for none", name, p))
		}
	}
	if c.HTTPPort == 0 && c.HTTPSPort == 0 {
		errs = append(errs, errors.New("--http-port and --https-port are both 0: HAProxy would listen nowhere"))
	}
	if c.HTTPPort == c.HTTPSPort && c.HTTPPort != 0 {
		errs = append(errs, fmt.Errorf("--http-port and --https-port are both %d", c.HTTPPort))
	}
	switch c.BindAddress {
	case "all", "*", "0.0.0.0", "::":
		c.BindAddress = ""
	case "":
	default:
		a, err := netip.ParseAddr(c.BindAddress)
		if err != nil || a.Zone() != "" {
			errs = append(errs, fmt.Errorf("--bind-address %q: give an IP address, or all", c.BindAddress))
		}
	}
	return errs
}

func (c *Config) validatePaths() []error {
	var errs []error
	dir, err := filepath.Abs(c.StateDir)
	if err != nil || c.StateDir == "" {
		errs = append(errs, fmt.Errorf("--state-dir %q: give a folder", c.StateDir))
	}
	c.StateDir = dir
	if socket := filepath.Join(dir, "master.sock"); len(socket) > maxSocketPath {
		errs = append(errs, fmt.Errorf("--state-dir %s: its sockets would have paths of more than %d bytes; give a shorter one", dir, maxSocketPath))
	}
	binary, err := exec.LookPath(c.HAProxy)
	if err == nil {
		binary, err = filepath.Abs(binary)
	}
	if err != nil {
		errs = append(errs, fmt.Errorf("--haproxy %s: %w; install HAProxy 2.6 or newer, or give its path", c.HAProxy, err))
	}
	c.HAProxy = binary
	return errs
}

func (c *Config) node() node.Config {
	return node.Config{
		HAProxy: c.HAProxy, MasterSocket: c.MasterSocket, AddServers: c.AddServers,
		Settings: render.Settings{StateDir: c.StateDir, HTTPPort: c.HTTPPort, HTTPSPort: c.HTTPSPort, BindAddress: c.BindAddress},
	}
}
