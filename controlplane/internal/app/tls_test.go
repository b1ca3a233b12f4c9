package app

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/transport"
	"github.com/berth-proxy/berth/api/transport/transporttest"
)

// With certificates every listener that can be reached from elsewhere wants one of the same authority, and nobody without is served.
func TestMutualTLS(t *testing.T) {
	ours, theirs := transporttest.NewAuthority(t), transporttest.NewAuthority(t)
	dir := t.TempDir()
	write(t, dir, "web.yaml", objects)
	write(t, dir, "pods.yaml", slice("10.0.0.1"))
	plane := start(t, Config{
		Sources: []string{"dir:" + dir}, TLS: ours.Files("plane"),
		NodeAddress: "0.0.0.0:0", AdminAddress: "0.0.0.0:0", MetricsAddress: "0.0.0.0:0",
	})
	at := func(address string) string {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		return net.JoinHostPort("127.0.0.1", port)
	}
	node, err := ours.Files("node").Client(at(plane.NodeAddress()))
	if err != nil {
		t.Fatal(err)
	}
	n := &scripted{t: t, rev: snapshot.EmptyRevision(), gen: snapshot.EmptyGeneration()}
	if err := n.connect(dial(t, at(plane.NodeAddress()), node)); err != nil {
		t.Fatal(err)
	}
	n.until("10.0.0.1 free free free")

	stranger, err := transport.Files{Cert: theirs.Files("x").Cert, Key: theirs.Files("x").Key, CA: ours.Files("x").CA}.Client(at(plane.NodeAddress()))
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"a node of another authority": (&scripted{t: t, rev: snapshot.EmptyRevision(), gen: snapshot.EmptyGeneration()}).connect(dial(t, at(plane.NodeAddress()), stranger)),
		"plain text":                  (&scripted{t: t, rev: snapshot.EmptyRevision(), gen: snapshot.EmptyGeneration()}).connect(dial(t, at(plane.NodeAddress()), insecure.NewCredentials())),
	} {
		if status.Code(err) != codes.Unavailable {
			t.Errorf("%s was answered with %v", what, err)
		}
	}

	pair, err := tls.LoadX509KeyPair(ours.Files("node").Cert, ours.Files("node").Key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	text, err := os.ReadFile(ours.Files("node").CA)
	if err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatal(err)
	}
	for _, c := range []struct {
		certificates []tls.Certificate
		served       bool
	}{{[]tls.Certificate{pair}, true}, {nil, false}} {
		client := http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, Certificates: c.certificates}, DisableKeepAlives: true,
		}}
		resp, err := client.Get("https://" + at(plane.MetricsAddress()) + "/metrics")
		if (err == nil) != c.served {
			t.Errorf("metrics with %d certificates: %v", len(c.certificates), err)
		}
		if err == nil {
			_ = resp.Body.Close()
		}
	}
}
