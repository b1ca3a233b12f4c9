package app

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/transport"
	"github.com/berth-proxy/berth/api/transport/transporttest"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

// onLoopback is an address of a plane that listens on all, as one of this machine.
func onLoopback(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", port)
}

func clientOf(t *testing.T, f transport.Files) credentials.TransportCredentials {
	t.Helper()
	c, err := f.Client("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// secured is a plane with certificates and one route.
func secured(t *testing.T, files transport.Files) (plane *running, dir string) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, "web.yaml", objects)
	write(t, dir, "pods.yaml", slice("10.0.0.1"))
	return start(t, Config{Sources: []string{"dir:" + dir}, TLS: files, NodeAddress: "0.0.0.0:0", AdminAddress: "0.0.0.0:0"}), dir
}

func freshNode(t *testing.T) *scripted {
	t.Helper()
	return &scripted{t: t, rev: snapshot.EmptyRevision(), gen: snapshot.EmptyGeneration()}
}

// A node, here node a of fleet default, is who its certificate says.
func TestIDENTITY1_ANodeIsWhoItsCertificateSays(t *testing.T) {
	authority := transporttest.NewAuthority(t)
	plane, _ := secured(t, authority.Files("plane"))
	for name, c := range map[string]struct {
		uris []string
		why  string // empty where the node is served
	}{
		"itself":               {[]string{"spiffe://example.org/berth/fleet/default/node/a"}, ""},
		"no URI (IDENTITY-2)":  {nil, ""},
		"a URI of another use": {[]string{"https://example.org/node/b"}, ""},
		"another node":         {[]string{"spiffe://example.org/berth/fleet/default/node/b"}, "the certificate is for spiffe://example.org/berth/fleet/default/node/b"},
		"another fleet":        {[]string{"spiffe://example.org/berth/fleet/edge/node/a"}, "the node says that it is a of fleet default"},
		"more than a node":     {[]string{"spiffe://example.org/berth/fleet/default/node/a/b"}, "correct --fleet and --node"},
		"something else":       {[]string{"spiffe://example.org/ns/shop/sa/web"}, "give it a certificate for spiffe://example.org/berth/fleet/default/node/a"},
		"a trust domain":       {[]string{"spiffe://example.org"}, "the certificate is for"},
		"two of them":          {[]string{"spiffe://example.org/berth/fleet/default/node/a", "spiffe://example.org/berth/fleet/default/node/b"}, "more than one SPIFFE URI"},
		"what is no SPIFFE ID": {[]string{"spiffe://example.org/berth//a"}, "is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			n := freshNode(t)
			err := n.connect(dial(t, onLoopback(t, plane.NodeAddress()), clientOf(t, authority.Files("node", c.uris...))))
			if c.why == "" {
				if err != nil {
					t.Fatal(err)
				}
				n.until("10.0.0.1 free free free")
				return
			}
			if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%v, want PermissionDenied with %q", err, c.why)
			}
		})
	}
}

func TestIDENTITY3_ANodesCertificateIsOfNoUseOnTheAdminAddress(t *testing.T) {
	authority := transporttest.NewAuthority(t)
	plane, _ := secured(t, authority.Files("plane"))
	for name, c := range map[string]struct {
		uris []string
		want codes.Code
	}{
		"a person":               {nil, codes.OK},
		"a person with a SPIFFE": {[]string{"spiffe://example.org/people/ann"}, codes.OK},
		"a node":                 {[]string{"spiffe://example.org/berth/fleet/default/node/a"}, codes.PermissionDenied},
		"two things":             {[]string{"spiffe://example.org/people/ann", "spiffe://example.org/berth/fleet/default/node/a"}, codes.PermissionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			people := adminv1.NewAdminServiceClient(dial(t, onLoopback(t, plane.AdminAddress()), clientOf(t, authority.Files("x", c.uris...))))
			ctx, cancel := context.WithTimeout(t.Context(), patienceOfTests)
			defer cancel()
			_, err := people.ListFleets(ctx, &adminv1.ListFleetsRequest{})
			if status.Code(err) != c.want {
				t.Errorf("a call: %v, want %v", err, c.want)
			}
			if c.want == codes.OK {
				return
			}
			watch, err := people.Watch(ctx, &adminv1.WatchRequest{Fleet: "default"})
			if err == nil {
				_, err = watch.Recv()
			}
			if status.Code(err) != c.want {
				t.Errorf("a stream: %v, want %v", err, c.want)
			}
		})
	}
}

// The plane's certificate and authority are replaced beneath it: the stream that is there goes on, and new ones are judged by the new authority.
func TestRotationNeedsNoRestart(t *testing.T) {
	before, after := transporttest.NewAuthority(t), transporttest.NewAuthority(t)
	files := before.Files("plane")
	files.CA = copied(t, files.CA) // the plane's own; what clients trust is another file
	plane, dir := secured(t, files)
	old := clientOf(t, before.Files("node"))
	n := freshNode(t)
	replace := func(f transport.Files) {
		t.Helper()
		for to, from := range map[string]string{files.Cert: f.Cert, files.Key: f.Key, files.CA: f.CA} {
			text, err := os.ReadFile(from)
			if err := errors.Join(err, os.WriteFile(to+".new", text, 0o600), os.Rename(to+".new", to)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := n.connect(dial(t, onLoopback(t, plane.NodeAddress()), old)); err != nil {
		t.Fatal(err)
	}
	n.until("10.0.0.1 free free free")
	replace(after.Files("plane"))

	fresh := clientOf(t, after.Files("node"))
	if err := askAnew(t, plane, fresh); err != nil {
		t.Errorf("a call with a certificate of the new authority: %v", err)
	}
	if err := askAnew(t, plane, old); status.Code(err) != codes.Unavailable {
		t.Errorf("a call with one of the old authority: %v, want Unavailable", err)
	}
	write(t, dir, "pods.yaml", slice("10.0.0.2"))
	n.until("free 10.0.0.2 free free") // over the stream of before

	// A key that does not fit is told of where it is watched, and nobody is harmed.
	if err := os.WriteFile(files.Key, []byte("-----BEGIN PRIVATE KEY-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := askAnew(t, plane, fresh); err != nil {
		t.Errorf("a call while the key is broken: %v", err)
	}
	resp, err := http.Get("http://" + plane.MetricsAddress() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"berth_certificate_files_refused 1", "berth_certificate_left_seconds 3"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
}

func copied(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	to := filepath.Join(t.TempDir(), filepath.Base(file))
	if err := errors.Join(err, os.WriteFile(to, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	return to
}

// askAnew asks the plane something over a new connection.
func askAnew(t *testing.T, plane *running, c credentials.TransportCredentials) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patienceOfTests)
	defer cancel()
	_, err := adminv1.NewAdminServiceClient(dial(t, onLoopback(t, plane.AdminAddress()), c)).ListFleets(ctx, &adminv1.ListFleetsRequest{})
	return err
}
