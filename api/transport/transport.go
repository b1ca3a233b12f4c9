package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// ErrPlainText is in the chain of the error about an address that would need certificates.
var ErrPlainText = errors.New("plain text is for loopback addresses only; give --tls-cert, --tls-key and --tls-ca")

// Files are the paths of PEM files, all of them or none.
type Files struct {
	// Cert and Key are this program's own, CA what the other side's certificate is checked against.
	Cert, Key, CA string
}

// Given says whether certificates were given, and is an error if only some of them were.
func (f Files) Given() (bool, error) {
	n := 0
	for _, p := range []string{f.Cert, f.Key, f.CA} {
		if p != "" {
			n++
		}
	}
	if n != 0 && n != 3 {
		return false, errors.New("--tls-cert, --tls-key and --tls-ca belong together; give all three or none")
	}
	return n == 3, nil
}

// Server returns the credentials of a gRPC listener on the address.
func (f Files) Server(address string) (credentials.TransportCredentials, error) {
	config, err := f.ServerConfig(address)
	if err != nil {
		return nil, err
	}
	if config == nil {
		return insecure.NewCredentials(), nil
	}
	return credentials.NewTLS(config), nil
}

// ServerConfig returns what any listener on the address needs for TLS, nil for plain text.
func (f Files) ServerConfig(address string) (*tls.Config, error) {
	config, err := f.config(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if config != nil {
		config.ClientCAs, config.ClientAuth = config.RootCAs, tls.RequireAndVerifyClientCert
	}
	return config, nil
}

// Client returns the credentials for dialing all of the addresses.
func (f Files) Client(addresses ...string) (credentials.TransportCredentials, error) {
	for _, a := range addresses {
		config, err := f.config(a)
		if err != nil {
			return nil, fmt.Errorf("connect to %s: %w", a, err)
		}
		if config != nil {
			return credentials.NewTLS(config), nil
		}
	}
	return insecure.NewCredentials(), nil
}

// config is nil for plain text.
func (f Files) config(address string) (*tls.Config, error) {
	given, err := f.Given()
	if err != nil {
		return nil, err
	}
	if !given {
		if !Loopback(address) {
			return nil, ErrPlainText
		}
		return nil, nil //nolint:nilnil // No configuration stands for plain text.
	}
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("read certificate %s with key %s: %w", f.Cert, f.Key, err)
	}
	text, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, fmt.Errorf("read CA: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read CA %s: there is no certificate in it", f.CA)
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, RootCAs: pool}, nil
}

// Loopback says whether HOST:PORT cannot be reached from another machine: a loopback address, or the name localhost.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}
