package transport_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/credentials"

	"github.com/berth-proxy/berth/api/transport"
	"github.com/berth-proxy/berth/api/transport/transporttest"
)

// shakeHands says what both sides make of one another.
func shakeHands(t *testing.T, server, client credentials.TransportCredentials) (atServer, atClient error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	served := make(chan error, 1)
	go func() {
		raw, err := listener.Accept()
		if err != nil {
			served <- err
			return
		}
		defer raw.Close()
		conn, _, err := server.ServerHandshake(raw)
		if err == nil {
			_, err = conn.Write([]byte("x")) // the client learns only by reading that it was refused
		}
		served <- err
	}()
	raw, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, _, err := client.ClientHandshake(t.Context(), "127.0.0.1", raw)
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	_ = raw.Close()
	return <-served, err
}

func TestTRANSPORT2_BothSidesAreChecked(t *testing.T) {
	ourCA, theirCA := transporttest.NewAuthority(t), transporttest.NewAuthority(t)
	ours, theirs := ourCA.Files("ours"), theirCA.Files("theirs")
	credentialsOf := func(give func(transport.Files) (credentials.TransportCredentials, error), f transport.Files) credentials.TransportCredentials {
		c, err := give(f)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	server := func(f transport.Files) credentials.TransportCredentials {
		return credentialsOf(func(f transport.Files) (credentials.TransportCredentials, error) { return f.Server("0.0.0.0:1") }, f)
	}
	client := func(f transport.Files) credentials.TransportCredentials {
		return credentialsOf(func(f transport.Files) (credentials.TransportCredentials, error) { return f.Client("10.0.0.1:1") }, f)
	}
	text, err := os.ReadFile(ours.CA)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	pair, err := tls.LoadX509KeyPair(ours.Cert, ours.Key)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		server, client credentials.TransportCredentials
		fine           bool
	}{
		"one authority":                {server(ours), client(ours), true},
		"a stranger as the client":     {server(ours), client(transport.Files{Cert: theirs.Cert, Key: theirs.Key, CA: ours.CA}), false},
		"a stranger as the server":     {server(transport.Files{Cert: theirs.Cert, Key: theirs.Key, CA: ours.CA}), client(ours), false},
		"a client with no certificate": {server(ours), credentials.NewTLS(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}), false},
		"a client of yesterday": {server(ours), credentials.NewTLS(&tls.Config{
			RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12,
		}), false},
	} {
		t.Run(name, func(t *testing.T) {
			atServer, atClient := shakeHands(t, c.server, c.client)
			if (atServer == nil && atClient == nil) != c.fine {
				t.Errorf("server: %v, client: %v", atServer, atClient)
			}
		})
	}
}

func TestFilesThatCannotBeReadAreNamed(t *testing.T) {
	fine := transporttest.NewAuthority(t).Files("fine")
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]transport.Files{
		"missing.crt": {Cert: "missing.crt", Key: fine.Key, CA: fine.CA},
		"missing.ca":  {Cert: fine.Cert, Key: fine.Key, CA: "missing.ca"},
		empty:         {Cert: fine.Cert, Key: fine.Key, CA: empty},
	} {
		if _, err := f.ServerConfig("127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error that names %s", err, want)
		}
	}
}
