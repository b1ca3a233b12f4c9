package main

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/berth-proxy/berth/api/flagenv"
)

// What an operator sees of a plane that cannot start: what is wrong, and an exit code that tells a typing error from a machine's.
func TestExitCodes(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	source := "dir:" + t.TempDir()
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no source":           {nil, exitUsage, "--source"},
		"a flag that is none": {[]string{"--sauce", source}, exitUsage, "--sauce"},
		"an argument":         {[]string{"--source", source, "more"}, exitUsage, "more"},
		"an open address":     {[]string{"--source", source, "--node-address", "0.0.0.0:0"}, exitUsage, "--tls-cert"},
		"certificates that are not there": {
			[]string{"--source", source, "--tls-cert", "/nowhere", "--tls-key", "/nowhere", "--tls-ca", "/nowhere"}, exitFailed, "/nowhere",
		},
		"a port that is taken": {
			[]string{"--source", source, "--node-address", "127.0.0.1:0", "--admin-address", taken.Addr().String()}, exitFailed, taken.Addr().String(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := command()
			cmd.SetArgs(append([]string{}, c.args...))
			err := cmd.ExecuteContext(context.Background())
			if err == nil || exitCode(err) != c.code || !strings.Contains(err.Error(), c.want) {
				t.Errorf("exit code %d with %v, want %d and %q", exitCode(err), err, c.code, c.want)
			}
		})
	}
}

// Every flag says what it is for and which variable stands for it.
func TestHelp(t *testing.T) {
	command().Flags().VisitAll(func(f *pflag.Flag) {
		if !strings.HasSuffix(f.Usage, "["+flagenv.Name(f.Name)+"]") || len(f.Usage) < 20 {
			t.Errorf("--%s: %q", f.Name, f.Usage)
		}
	})
}

func TestAVariableStandsForAFlag(t *testing.T) {
	for name, value := range map[string]string{"BERTH_SOURCE": "a=dir:/x,a=dir:/y"} {
		if old, was := os.LookupEnv(name); was {
			t.Skipf("%s is set to %s here", name, old)
		}
		t.Setenv(name, value)
	}
	cmd := command()
	cmd.SetArgs([]string{})
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "another source with the name a") {
		t.Errorf("%v", err)
	}
}
