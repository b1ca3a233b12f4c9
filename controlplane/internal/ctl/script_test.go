package ctl

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write what the scripts give into their files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The scripts are what people type, with what they get. In them
//
//	berthctl CODE ARGS…
//
// runs berthctl, which has to end with CODE, with the script's environment. PLANE is the address of a scripted plane where something is wrong, HEALTHY
// of one where nothing is, LONELY of one whose only fleet is edge, NOWHERE one at which nobody listens.
func TestScripts(t *testing.T) {
	planes := map[string]string{
		"PLANE":   (&scripted{}).serve(t, plain()),
		"HEALTHY": (&scripted{healthy: true}).serve(t, plain()),
		"LONELY":  (&scripted{healthy: true, fleets: []string{"edge"}}).serve(t, plain()),
		"NOWHERE": nowhere(t),
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			for name, address := range planes {
				e.Setenv(name, address)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"berthctl": scriptedRun},
	})
}

func scriptedRun(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 || neg {
		ts.Fatalf("usage: berthctl CODE ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var complaint bytes.Buffer
	code := Run(context.Background(), Invocation{
		Args: args[1:], Out: ts.Stdout(), Err: io.MultiWriter(ts.Stderr(), &complaint), Version: "v1.2.3",
		LookupEnv: func(name string) (string, bool) {
			value := ts.Getenv(name)
			return value, value != ""
		},
	})
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
	ts.Check(complains(complaint.String(), code))
}

// complains holds CTL-2: one line for 1 and 2, nothing for 0 and 3.
func complains(stderr string, code int) error {
	lines := strings.Count(stderr, "\n")
	switch {
	case code == done || code == differs:
		if stderr != "" {
			return fmt.Errorf("exit code %d, and standard error is %q", code, stderr)
		}
	case lines != 1 || !strings.HasPrefix(stderr, "berthctl: ") || !strings.HasSuffix(stderr, "\n"):
		return fmt.Errorf("standard error is no single line of berthctl: %q", stderr)
	}
	return nil
}

// nowhere is a loopback address at which nobody listens.
func nowhere(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}
