package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/berth-proxy/berth/api/transport/transporttest"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

func noEnvironment(string) (string, bool) { return "", false }

// Ctrl-C is how a watch ends, and everything before it was printed: here one JSON object a line.
func TestWatchEndsWithItsContext(t *testing.T) {
	plane := &scripted{watched: make(chan struct{})}
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	var out, errs bytes.Buffer
	ended := make(chan int, 1)
	args := []string{"watch", "-o", "json", "--admin-address", plane.serve(t, plain())}
	lines := make(chan string)
	go func() {
		ended <- Run(ctx, Invocation{Args: args, Out: writerFunc(func(b []byte) (int, error) {
			lines <- string(b)
			return out.Write(b)
		}), Err: &errs, LookupEnv: noEnvironment})
	}()
	for range 10 { // all events of the scripted plane
		line := <-lines
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err != nil || strings.Count(line, "\n") != 1 || event["time"] == "" {
			t.Errorf("%q is no event in one line: %v", line, err)
		}
	}
	<-plane.watched
	interrupt()
	if code := <-ended; code != done || errs.Len() > 0 {
		t.Errorf("exit code %d, want 0; standard error: %s", code, &errs)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// What could not be written was not done.
func TestFullDisk(t *testing.T) {
	address := (&scripted{healthy: true}).serve(t, plain())
	objects := t.TempDir()
	for _, args := range [][]string{
		{"status"}, {"nodes", "-o", "json"}, {"render"}, {"watch"}, {"diff", "node-2"}, {"render", "-f", objects}, {"explain", "http://x/", "-f", objects},
	} {
		var errs bytes.Buffer
		code := Run(context.Background(), Invocation{
			Args: append(args, "--admin-address", address), Err: &errs, LookupEnv: noEnvironment,
			Out: writerFunc(func([]byte) (int, error) { return 0, errors.New("no space left on device") }),
		})
		if err := complains(errs.String(), code); err != nil || code != failed || !strings.Contains(errs.String(), "no space left on device") {
			t.Errorf("%v: exit code %d, want 1: %s%v", args, code, &errs, err)
		}
	}
}

func stop(t *testing.T, server *grpc.Server, served <-chan error) {
	server.Stop()
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// silent takes calls and never answers.
type silent struct {
	adminv1.UnimplementedAdminServiceServer
}

func (silent) ListFleets(ctx context.Context, _ *adminv1.ListFleetsRequest) (*adminv1.ListFleetsResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A plane that does not answer, and a user who does not wait for it, end a command.
func TestPlaneThatDoesNotAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	adminv1.RegisterAdminServiceServer(server, silent{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	defer stop(t, server, served)
	late, cancelLate := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancelLate()
	gone, interrupt := context.WithCancel(context.Background())
	interrupt()
	for want, ctx := range map[string]context.Context{"did not answer in time": late, "list the fleets: interrupted": gone} {
		var out, errs bytes.Buffer
		code := Run(ctx, Invocation{Args: []string{"backends", "--admin-address", l.Addr().String()}, Out: &out, Err: &errs, LookupEnv: noEnvironment})
		if err := complains(errs.String(), code); err != nil || code != failed || !strings.Contains(errs.String(), want) {
			t.Errorf("exit code %d, %v; %q, want %q", code, err, &errs, want)
		}
	}
}

// Another server than a plane's is told from one.
func TestAnotherServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	defer stop(t, server, served)
	_, complaint, code := berthctl(t, "nodes", "--admin-address", l.Addr().String())
	if code != failed || !strings.Contains(complaint, "is it the admin address of a control plane of this version?") {
		t.Errorf("exit code %d: %s", code, complaint)
	}
}

// With certificates both sides show one; without, or with the wrong ones, the message says what to give.
func TestCertificates(t *testing.T) {
	ca, other := transporttest.NewAuthority(t), transporttest.NewAuthority(t)
	secure, err := ca.Files("plane").Server("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := (&scripted{healthy: true}).serve(t, secure)
	open := (&scripted{healthy: true}).serve(t, plain())
	files := ca.Files("ctl")
	ours := []string{"--tls-cert", files.Cert, "--tls-key", files.Key}
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"both":             {append([]string{"--admin-address", address, "--tls-ca", ca.CA()}, ours...), done, ""},
		"none":             {[]string{"--admin-address", address}, failed, "does it want certificates? Give --tls-cert, --tls-key and --tls-ca"},
		"another CA":       {append([]string{"--admin-address", address, "--tls-ca", other.CA()}, ours...), failed, "do the certificates fit"},
		"to an open plane": {append([]string{"--admin-address", open, "--tls-ca", ca.CA()}, ours...), failed, "do the certificates fit"},
	} {
		t.Run(name, func(t *testing.T) {
			out, complaint, code := berthctl(t, append(c.args, "nodes")...)
			if err := complains(complaint, code); err != nil || code != c.code || !strings.Contains(complaint, c.want) {
				t.Errorf("exit code %d, want %d; %v\n%s%s", code, c.code, err, out, complaint)
			}
		})
	}
}
