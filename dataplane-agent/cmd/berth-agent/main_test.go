package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/berth-proxy/berth/api/flagenv"
)

// Nothing is begun with flags that cannot be, and the error names the flag or the variable.
func TestWrongFlags(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		want string
	}{
		"an unknown flag":        {args: []string{"--no-such-flag"}, want: "--no-such-flag"},
		"an argument":            {args: []string{"start"}, want: "start"},
		"a log level":            {args: []string{"--log-level", "loud"}, want: "--log-level"},
		"no log level":           {args: []string{"--log-level", ""}, want: "--log-level"},
		"a log level of nothing": {args: []string{"--log-level", "disabled"}, want: "--log-level"},
		"a port by a flag":       {args: []string{"--http-port", "many"}, want: "--http-port"},
		"a port by a variable":   {env: map[string]string{"BERTH_HTTP_PORT": "many"}, want: "BERTH_HTTP_PORT"},
		"a HAProxy":              {env: map[string]string{"BERTH_HAPROXY": "/no/such/haproxy"}, want: "--haproxy /no/such/haproxy"},
		"the flag wins":          {args: []string{"--haproxy", "/no/flag"}, env: map[string]string{"BERTH_HAPROXY": "/no/variable"}, want: "/no/flag"},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			cmd := command()
			cmd.SetArgs(append([]string{"--state-dir", t.TempDir()}, c.args...))
			if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) || exitCode(err) != exitUsage {
				t.Errorf("error %v, want one of usage with %q", err, c.want)
			}
		})
	}
}

// An agent that was used rightly and cannot do its work ends otherwise than one that was used wrongly: a supervisor may start the first again.
func TestAStateDirectoryThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command()
	cmd.SetArgs([]string{"--state-dir", filepath.Join(file, "d"), "--haproxy", "/bin/true"})
	if err := cmd.ExecuteContext(t.Context()); err == nil || exitCode(err) != exitFailed || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v", err)
	}
}

func TestHelpNamesEveryVariable(t *testing.T) {
	cmd := command()
	var help bytes.Buffer
	cmd.SetOut(&help)
	cmd.SetArgs([]string{"--help"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "version" && !strings.Contains(help.String(), flagenv.Name(f.Name)) {
			t.Errorf("--%s: no word of %s in the help", f.Name, flagenv.Name(f.Name))
		}
	})
}
