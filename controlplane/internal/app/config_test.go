package app

import (
	"strings"
	"testing"

	"github.com/berth-proxy/berth/api/transport"
)

func TestValidate(t *testing.T) {
	fine := func() Config {
		return Config{Sources: []string{"dir:/srv/objects"}, NodeAddress: "127.0.0.1:1", AdminAddress: "[::1]:2", LogLevel: "info"}
	}
	for name, c := range map[string]struct {
		change func(*Config)
		want   string // in the error; empty: there is none
	}{
		"fine":                            {func(*Config) {}, ""},
		"no source":                       {func(c *Config) { c.Sources = nil }, "--source dir:"},
		"no kind of source":               {func(c *Config) { c.Sources = []string{"/srv/objects"} }, "NAME=dir:PATH"},
		"no path":                         {func(c *Config) { c.Sources = []string{"a=dir:"} }, "NAME=dir:PATH"},
		"two of a name":                   {func(c *Config) { c.Sources = append(c.Sources, "dir:/other/objects") }, "another source with the name objects"},
		"a path that is no text":          {func(c *Config) { c.Sources = []string{"a=dir:/x\xff"} }, "UTF-8"},
		"a list with blanks":              {func(c *Config) { c.Sources = []string{"a=dir:/x", " b=dir:/x"} }, ""},
		"two with names":                  {func(c *Config) { c.Sources = []string{"a=dir:/x", "b=dir:/x"} }, ""},
		"a path with an equals sign":      {func(c *Config) { c.Sources = []string{"dir:/srv/a=b"} }, ""},
		"a name with an underscore":       {func(c *Config) { c.Sources = []string{"a_b=dir:/x"} }, "cannot be the name"},
		"a name that is too long":         {func(c *Config) { c.Sources = []string{strings.Repeat("x", 55) + "=dir:/x"} }, "cannot be the name"},
		"a second folder of that kind":    {func(c *Config) { c.Sources = []string{"dir:/x", "dir:/my_objects"} }, "give NAME=dir:PATH"},
		"a first folder of that kind":     {func(c *Config) { c.Sources = []string{"dir:/my_objects"} }, ""},
		"a name that no backend can have": {func(c *Config) { c.Sources = []string{"a b=dir:/x"} }, "cannot be the name"},
		"a second folder of such a name":  {func(c *Config) { c.Sources = []string{"dir:/x", "dir:/my objects"} }, "give NAME=dir:PATH"},
		"no port":                         {func(c *Config) { c.NodeAddress = "localhost" }, "--node-address"},
		"no admin address":                {func(c *Config) { c.AdminAddress = "" }, "--admin-address"},
		"nodes from elsewhere":            {func(c *Config) { c.NodeAddress = "0.0.0.0:1" }, "--tls-cert"},
		"people from elsewhere":           {func(c *Config) { c.AdminAddress = ":1" }, "--tls-cert"},
		"metrics from elsewhere":          {func(c *Config) { c.MetricsAddress = "10.0.0.1:1" }, "--tls-cert"},
		"with certificates":               {func(c *Config) { c.NodeAddress, c.TLS = ":1", transport.Files{Cert: "a", Key: "b", CA: "c"} }, ""},
		"half the certificates":           {func(c *Config) { c.TLS.Cert = "a" }, "belong together"},
		"a level that is none":            {func(c *Config) { c.LogLevel = "loud" }, "--log-level"},
		"no level":                        {func(c *Config) { c.LogLevel = "" }, "--log-level"},
	} {
		t.Run(name, func(t *testing.T) {
			config := fine()
			c.change(&config)
			err := config.Validate()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the error is %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestTheNameOfASource(t *testing.T) {
	for given, want := range map[string]string{"dir:/srv/objects": "objects", "dir:/srv/objects/": "objects", "east=dir:/srv/objects": "east"} {
		f, err := parseSource(given, false)
		if err != nil || f.name != want || f.location != given {
			t.Errorf("%s: %+v, %v", given, f, err)
		}
	}
}
