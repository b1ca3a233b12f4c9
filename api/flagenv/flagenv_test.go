package flagenv_test

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/berth-proxy/berth/api/flagenv"
)

func TestAVariableStandsInForAFlagThatWasNotGiven(t *testing.T) {
	flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
	address := flags.String("node-address", "default", "where nodes connect")
	port := flags.Int("http-port", 8080, "")
	planes := flags.StringSlice("plane", nil, "")
	if err := flags.Parse([]string{"--http-port=1"}); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"BERTH_NODE_ADDRESS": "from-env", "BERTH_HTTP_PORT": "2", "BERTH_PLANE": "a:1,b:2"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	if err := flagenv.Apply(flags, lookup); err != nil {
		t.Fatal(err)
	}
	if *address != "from-env" || *port != 1 || strings.Join(*planes, " ") != "a:1 b:2" {
		t.Errorf("node-address %q, http-port %d, plane %v", *address, *port, *planes)
	}
}

func TestABadVariableIsNamed(t *testing.T) {
	flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
	flags.Int("http-port", 8080, "")
	err := flagenv.Apply(flags, func(string) (string, bool) { return "many", true })
	if err == nil || !strings.Contains(err.Error(), "BERTH_HTTP_PORT") {
		t.Errorf("error %v", err)
	}
}
