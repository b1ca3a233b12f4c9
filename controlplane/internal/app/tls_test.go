package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/transport"
)

// authority signs certificates for a test.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.key = a.write("ca", a.cert, nil)
	return a
}

// write makes NAME.crt and NAME.key.
func (a *authority) write(name string, c *x509.Certificate, signer *ecdsa.PrivateKey) *ecdsa.PrivateKey {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for ending, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(a.dir, name+ending), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return key
}

// files are those of a certificate for this machine, checked against the authority's own.
func (a *authority) files(name string) transport.Files {
	a.t.Helper()
	a.write(name, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.key)
	in := func(file string) string { return filepath.Join(a.dir, file) }
	return transport.Files{Cert: in(name + ".crt"), Key: in(name + ".key"), CA: in("ca.crt")}
}

// With certificates every listener that can be reached from elsewhere wants one of the same authority, and nobody without is served.
func TestMutualTLS(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	dir := t.TempDir()
	write(t, dir, "web.yaml", objects)
	write(t, dir, "pods.yaml", slice("10.0.0.1"))
	plane := start(t, Config{
		Sources: []string{"dir:" + dir}, TLS: ours.files("plane"),
		NodeAddress: "0.0.0.0:0", AdminAddress: "0.0.0.0:0", MetricsAddress: "0.0.0.0:0",
	})
	at := func(address string) string {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		return net.JoinHostPort("127.0.0.1", port)
	}
	node, err := ours.files("node").Client(at(plane.NodeAddress()))
	if err != nil {
		t.Fatal(err)
	}
	n := &scripted{t: t, rev: snapshot.EmptyRevision(), gen: snapshot.EmptyGeneration()}
	if err := n.connect(dial(t, at(plane.NodeAddress()), node)); err != nil {
		t.Fatal(err)
	}
	n.until("10.0.0.1 free free free")

	stranger, err := transport.Files{Cert: theirs.files("x").Cert, Key: theirs.files("x").Key, CA: ours.files("x").CA}.Client(at(plane.NodeAddress()))
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

	pair, err := tls.LoadX509KeyPair(ours.files("node").Cert, ours.files("node").Key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	text, err := os.ReadFile(ours.files("node").CA)
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
