package app

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/api/transport"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/source/dir"
)

// Config is everything that a control plane is told.
type Config struct {
	// Sources are [NAME=]dir:PATH, the first of which is the home cluster.
	Sources []string
	// NodeAddress, AdminAddress and MetricsAddress are HOST:PORT. Without a metrics address there are no metrics.
	NodeAddress, AdminAddress, MetricsAddress string
	TLS                                       transport.Files
	LogLevel                                  string
	// Version is the plane's own.
	Version string

	// What Validate makes of it.
	folders []folder
	level   zerolog.Level
}

// folder is a directory source.
type folder struct{ name, path, location string }

// Level is how much is logged.
func (c *Config) Level() zerolog.Level { return c.level }

// Validate finds all that cannot be, says what to give instead, and reads what has a form of its own.
func (c *Config) Validate() error {
	var errs []error
	if len(c.Sources) == 0 {
		errs = append(errs, errors.New("no --source: give at least one, for example --source dir:/etc/berth/objects"))
	}
	c.folders = nil
	for _, s := range c.Sources {
		f, err := parseSource(s, len(c.folders) == 0)
		if err == nil && slices.ContainsFunc(c.folders, func(o folder) bool { return o.name == f.name }) {
			err = fmt.Errorf("--source %s: there is another source with the name %s; give NAME=dir:PATH", s, f.name)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.folders = append(c.folders, f)
	}
	errs = append(errs, c.validateAddresses()...)
	level, err := zerolog.ParseLevel(c.LogLevel)
	if err != nil || level == zerolog.NoLevel {
		errs = append(errs, fmt.Errorf("--log-level %q: give debug, info, warn or error", c.LogLevel))
	}
	c.level = level
	return errors.Join(errs...)
}

// parseSource reads a source. The name becomes a part of its backends' names, except that of the first source.
func parseSource(s string, first bool) (folder, error) {
	s = strings.TrimSpace(s) // a list in the environment may have a blank after its comma
	if !utf8.ValidString(s) {
		return folder{}, fmt.Errorf("--source %q: give a path that is UTF-8, a symlink for example: it is shown to people", s)
	}
	name, rest, named := strings.Cut(s, "=")
	if !named || strings.Contains(name, ":") || strings.ContainsRune(name, filepath.Separator) {
		name, rest, named = "", s, false
	}
	path, isDir := strings.CutPrefix(rest, "dir:")
	if !isDir || path == "" {
		return folder{}, fmt.Errorf("--source %q: give dir:PATH or NAME=dir:PATH", s)
	}
	if !named || name == "" {
		named, name = false, dir.NameOf(path)
	}
	if err := source.CheckName(name); err != nil && (named || !first) {
		return folder{}, fmt.Errorf("--source %s: %q cannot be the name of a cluster: %w; give NAME=dir:PATH", s, name, err)
	}
	return folder{name, path, s}, nil
}

func (c *Config) validateAddresses() []error {
	var errs []error
	given, err := c.TLS.Given()
	if err != nil {
		errs = append(errs, err)
	}
	for _, a := range []struct {
		flag, address string
		optional      bool
	}{
		{"--node-address", c.NodeAddress, false}, {"--admin-address", c.AdminAddress, false}, {"--metrics-address", c.MetricsAddress, true},
	} {
		if a.address == "" && a.optional {
			continue
		}
		if _, _, err := net.SplitHostPort(a.address); err != nil {
			errs = append(errs, fmt.Errorf("%s %q: give HOST:PORT", a.flag, a.address))
			continue
		}
		if !given && !transport.Loopback(a.address) {
			errs = append(errs, fmt.Errorf("%s %s: %w", a.flag, a.address, transport.ErrPlainText))
		}
	}
	return errs
}
