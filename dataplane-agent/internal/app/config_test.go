package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/transport"
)

// valid is a configuration that needs no more than a binary.
func valid(t *testing.T) Config {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "haproxy")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return Config{Planes: []string{"127.0.0.1:8443"}, Fleet: "default", Node: "n1", StateDir: "/var/lib/berth", HAProxy: binary, HTTPPort: 8080, HTTPSPort: 8443, LogLevel: "info"}
}

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		// want is a part of the error, empty if there is none.
		want string
	}{
		"as it is":                       {func(*Config) {}, ""},
		"no plane":                       {func(c *Config) { c.Planes = nil }, ""},
		"several planes":                 {func(c *Config) { c.Planes = []string{"a:1", "[::1]:2", "c.example:3"} }, ""},
		"a list with blanks":             {func(c *Config) { c.Planes = []string{"a:1", " b:2 "} }, ""},
		"a plane without a port":         {func(c *Config) { c.Planes = []string{"a"} }, `--plane "a": give HOST:PORT`},
		"a plane without a host":         {func(c *Config) { c.Planes = []string{":1"} }, "give HOST:PORT"},
		"a plane with an empty port":     {func(c *Config) { c.Planes = []string{"a:"} }, "give HOST:PORT"},
		"a plane with a word as port":    {func(c *Config) { c.Planes = []string{"a:b"} }, "give HOST:PORT"},
		"a plane with too high a port":   {func(c *Config) { c.Planes = []string{"a:65536"} }, "give HOST:PORT"},
		"no fleet":                       {func(c *Config) { c.Fleet = "" }, "--fleet"},
		"a fleet with a space":           {func(c *Config) { c.Fleet = "a b" }, "--fleet"},
		"no node":                        {func(c *Config) { c.Node = "" }, "--node"},
		"a node with a line break":       {func(c *Config) { c.Node = "a\nb" }, "--node"},
		"a node with a slash":            {func(c *Config) { c.Node = "a/b" }, "--node"},
		"a node with a control":          {func(c *Config) { c.Node = "a\x01" }, "--node"},
		"a node that is no text":         {func(c *Config) { c.Node = "a\xff" }, "--node"},
		"the longest node":               {func(c *Config) { c.Node = strings.Repeat("a", 253) }, ""},
		"a longer one":                   {func(c *Config) { c.Node = strings.Repeat("a", 254) }, "--node"},
		"a port below":                   {func(c *Config) { c.HTTPPort = -1 }, "--http-port -1"},
		"a port above":                   {func(c *Config) { c.HTTPSPort = 65536 }, "--https-port 65536"},
		"no HTTP":                        {func(c *Config) { c.HTTPPort = 0 }, ""},
		"no HTTPS":                       {func(c *Config) { c.HTTPSPort = 0 }, ""},
		"neither":                        {func(c *Config) { c.HTTPPort, c.HTTPSPort = 0, 0 }, "both 0"},
		"one port for both":              {func(c *Config) { c.HTTPSPort = 8080 }, "both 8080"},
		"an address":                     {func(c *Config) { c.BindAddress = "10.0.0.1" }, ""},
		"an IPv6 address":                {func(c *Config) { c.BindAddress = "2001:db8::1" }, ""},
		"an address with a zone":         {func(c *Config) { c.BindAddress = "fe80::1%eth0" }, "--bind-address"},
		"no address":                     {func(c *Config) { c.BindAddress = "localhost" }, "--bind-address"},
		"read back at once":              {func(c *Config) { c.VerifyEvery = time.Millisecond }, "--verify-every"},
		"read back every minute":         {func(c *Config) { c.VerifyEvery = time.Minute }, ""},
		"no state directory":             {func(c *Config) { c.StateDir = "" }, "--state-dir"},
		"a long state directory":         {func(c *Config) { c.StateDir = "/" + strings.Repeat("a", 100) }, "shorter"},
		"a state directory with a space": {func(c *Config) { c.StateDir = "/var/lib/berth 1" }, "--state-dir"},
		"a long master socket":           {func(c *Config) { c.MasterSocket = "/" + strings.Repeat("a", 97) }, "--haproxy-master-socket"},
		"no metrics port":                {func(c *Config) { c.MetricsAddress = "127.0.0.1" }, "--metrics-address"},
		"metrics from elsewhere":         {func(c *Config) { c.MetricsAddress = "0.0.0.0:1" }, "--metrics-address 0.0.0.0:1"},
		"metrics from elsewhere, secure": {func(c *Config) {
			c.MetricsAddress = "10.0.0.1:1"
			c.TLS = transport.Files{Cert: "c", Key: "k", CA: "a"}
		}, ""},
		"no HAProxy":                 {func(c *Config) { c.HAProxy = "/no/such/haproxy" }, "--haproxy /no/such/haproxy"},
		"a HAProxy that is a folder": {func(c *Config) { c.HAProxy = "/" }, "--haproxy /"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := valid(t)
			c.change(&cfg)
			switch err := cfg.Validate(); {
			case c.want == "" && err != nil:
				t.Errorf("error %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestValidateFindsEverythingAtOnce(t *testing.T) {
	cfg := valid(t)
	cfg.Fleet, cfg.Planes, cfg.HTTPPort, cfg.HAProxy = "", []string{"a"}, -1, "/no/such"
	err := cfg.Validate()
	for _, want := range []string{"--fleet", "--plane", "--http-port", "--haproxy"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v names no %s", err, want)
		}
	}
}

func TestValidateFillsIn(t *testing.T) {
	for given, want := range map[string]string{"all": "", "*": "", "": "", "0.0.0.0": "", "::": "", "127.0.0.1": "127.0.0.1"} {
		cfg := valid(t)
		cfg.BindAddress = given
		if err := cfg.Validate(); err != nil || cfg.BindAddress != want {
			t.Errorf("--bind-address %q: %q, %v; want %q", given, cfg.BindAddress, err, want)
		}
	}
	cfg := valid(t)
	t.Chdir(filepath.Dir(cfg.HAProxy))
	cfg.StateDir, cfg.HAProxy, cfg.MasterSocket = "state", "./haproxy", "m.sock"
	err := cfg.Validate()
	for _, path := range []string{cfg.StateDir, cfg.HAProxy, cfg.MasterSocket} {
		if err != nil || !filepath.IsAbs(path) {
			t.Errorf("%q is not absolute (%v)", path, err)
		}
	}
}
