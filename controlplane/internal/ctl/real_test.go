package ctl

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/controlplane/internal/app"
)

// The scripts in testdata/real have a real control plane, with the directories home and east of the script as its sources. In them
//
//	sites DIR FROM TO    writes a file for each of some services, with a slice and a route each
//	plane                starts the control plane; PLANE is its address
//	until TEXT ARGS…     runs berthctl with ARGS until it prints TEXT, to standard output or error
//	never TEXT ARGS…     runs berthctl with ARGS for a second, in which it must not print TEXT
func TestRealPlane(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/real",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"berthctl": scriptedRun, "sites": writeSites, "plane": realPlane, "until": until, "never": never,
		},
	})
}

func writeSites(ts *testscript.TestScript, _ bool, args []string) {
	var from, to int
	_, err := fmt.Sscan(args[1]+" "+args[2], &from, &to)
	ts.Check(err)
	for i := from; i < to; i++ {
		text := fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: s%[1]d, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: s%[1]d-a, namespace: shop, labels: {kubernetes.io/service-name: s%[1]d}},
 addressType: IPv4, ports: [{port: 8080}], endpoints: [{addresses: [10.0.0.%[1]d]}]}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: s%[1]d, namespace: shop}, spec: {ingressClassName: berth, rules: [
 {host: s%[1]d.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s%[1]d, port: {number: 80}}}}]}}]}}
`, i)
		path := filepath.Join(ts.MkAbs(args[0]), fmt.Sprintf("s%d.yaml", i))
		temp := filepath.Join(ts.Getenv("WORK"), "temp")
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
		ts.Check(os.WriteFile(temp, []byte(text), 0o600))
		ts.Check(os.Rename(temp, path))
	}
}

// realPlane starts a control plane in this process, which ends with the script.
func realPlane(ts *testscript.TestScript, _ bool, _ []string) {
	config := app.Config{
		Sources:     []string{"home=dir:" + ts.MkAbs("home"), "east=dir:" + ts.MkAbs("east")},
		NodeAddress: "127.0.0.1:0", AdminAddress: "127.0.0.1:0", LogLevel: "info",
	}
	ts.Check(config.Validate())
	ctx, stop := context.WithCancel(context.Background())
	plane, err := app.New(ctx, config, zerolog.Nop())
	ts.Check(err)
	ended := make(chan error, 1)
	go func() { ended <- plane.Run(ctx) }()
	ts.Defer(func() {
		stop()
		ts.Check(<-ended)
	})
	ts.Setenv("PLANE", plane.AdminAddress())
	ts.Setenv("BERTH_ADMIN_ADDRESS", plane.AdminAddress())
}

// said runs berthctl and gives all that it prints.
func said(ts *testscript.TestScript, args []string) string {
	var out bytes.Buffer
	Run(context.Background(), Invocation{Args: args, Out: &out, Err: &out, LookupEnv: func(name string) (string, bool) {
		value := ts.Getenv(name)
		return value, value != ""
	}})
	return out.String()
}

func until(ts *testscript.TestScript, _ bool, args []string) {
	last := ""
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if last = said(ts, args[1:]); strings.Contains(last, args[0]) {
			_, err := fmt.Fprint(ts.Stdout(), last)
			ts.Check(err)
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	ts.Fatalf("berthctl %s does not print %q, but\n%s", strings.Join(args[1:], " "), args[0], last)
}

func never(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); {
		if got := said(ts, args[1:]); strings.Contains(got, args[0]) {
			ts.Fatalf("berthctl %s prints %q:\n%s", strings.Join(args[1:], " "), args[0], got)
		}
		<-time.After(50 * time.Millisecond)
	}
}
