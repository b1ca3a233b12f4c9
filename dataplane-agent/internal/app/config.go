package app

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/api/transport"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/files"
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
	BindAddress string
	AddServers  bool
	// VerifyEvery is how often everything is read back from a worker that was left alone; zero stands for the node's default.
	VerifyEvery    time.Duration
	MetricsAddress string
	TLS            transport.Files
	LogLevel       string
	// Version is the agent's own.
	Version string
}

// maxSocketPath is the longest path of a unix socket that HAProxy takes. The kernel takes 107 bytes, and HAProxy adds a suffix while it starts.
const maxSocketPath = 97

// Validate finds what cannot be, and fills in what follows from the rest.
func (c *Config) Validate() error {
	var errs []error
	for _, f := range []struct{ name, value string }{{"--fleet", c.Fleet}, {"--node", c.Node}} {
		unfit := func(r rune) bool {
			return r == '/' || r == utf8.RuneError || unicode.IsSpace(r) || unicode.IsControl(r)
		}
		if f.value == "" || len(f.value) > wire.MaxNodeName || strings.ContainsFunc(f.value, unfit) {
			errs = append(errs, fmt.Errorf("%s %q: give a name of 1 to %d bytes without spaces and slashes", f.name, f.value, wire.MaxNodeName))
		}
	}
	for i, p := range c.Planes {
		p = strings.TrimSpace(p) // a list in the environment may have a blank after its comma
		c.Planes[i] = p
		if host, err := hostOf(p); err != nil || host == "" {
			errs = append(errs, fmt.Errorf("--plane %q: give HOST:PORT", p))
		}
	}
	if c.MetricsAddress != "" {
		if _, err := hostOf(c.MetricsAddress); err != nil {
			errs = append(errs, fmt.Errorf("--metrics-address %q: give HOST:PORT", c.MetricsAddress))
		} else if given, err := c.TLS.Given(); err == nil && !given && !transport.Loopback(c.MetricsAddress) {
			errs = append(errs, fmt.Errorf("--metrics-address %s: %w", c.MetricsAddress, transport.ErrPlainText))
		}
	}
	if c.VerifyEvery != 0 && c.VerifyEvery < time.Second {
		errs = append(errs, fmt.Errorf("--verify-every %v: give a second or more", c.VerifyEvery))
	}
	errs = append(errs, c.validatePorts()...)
	errs = append(errs, c.validatePaths()...)
	return errors.Join(errs...)
}

// hostOf is the host of HOST:PORT, where the port is a number.
func hostOf(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err //nolint:wrapcheck // The caller says what was to be given.
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return host, err //nolint:wrapcheck // As above.
}

func (c *Config) validatePorts() []error {
	var errs []error
	for _, f := range []struct {
		name string
		port int
	}{{"--http-port", c.HTTPPort}, {"--https-port", c.HTTPSPort}} {
		if f.port < 0 || f.port > 65535 {
			errs = append(errs, fmt.Errorf("%s %d: give a port from 1 to 65535, or 0 for none", f.name, f.port))
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
	if strings.ContainsFunc(dir, unfitForPath) || !utf8.ValidString(dir) {
		errs = append(errs, fmt.Errorf("--state-dir %q: HAProxy cannot be given this path in all places; use letters, digits and any of ._-/", dir))
	}
	if over := len(filepath.Join(dir, files.LongestSocket)) - maxSocketPath; over > 0 {
		errs = append(errs, fmt.Errorf("--state-dir %s: the paths of its sockets would be longer than HAProxy takes; give one that is shorter by %d bytes", dir, over))
	}
	if c.MasterSocket != "" {
		if c.MasterSocket, err = filepath.Abs(c.MasterSocket); err != nil || len(c.MasterSocket) > maxSocketPath {
			errs = append(errs, fmt.Errorf("--haproxy-master-socket %s: give a path of at most %d bytes", c.MasterSocket, maxSocketPath))
		}
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

// unfitForPath says whether HAProxy reads a character of a path as something else: in the address of a socket, or in a list of certificates, which knows no quotes.
func unfitForPath(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("\"'\\#$,[]{}@%", r)
}

func (c *Config) node() node.Config {
	return node.Config{
		HAProxy: c.HAProxy, MasterSocket: c.MasterSocket, AddServers: c.AddServers, Verify: c.VerifyEvery,
		Settings: render.Settings{StateDir: c.StateDir, HTTPPort: c.HTTPPort, HTTPSPort: c.HTTPSPort, BindAddress: c.BindAddress},
	}
}
