package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"google.golang.org/grpc/credentials"
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

// Server returns the credentials of a gRPC listener on the address. They follow the files (TRANSPORT-3).
func (f Files) Server(address string) (credentials.TransportCredentials, error) {
	c, err := Open(f, nil)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return c.Server(address)
}

// ServerConfig returns what any listener on the address needs for TLS, nil for plain text.
func (f Files) ServerConfig(address string) (*tls.Config, error) {
	c, err := Open(f, nil)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return c.ServerConfig(address)
}

// Client returns the credentials for dialing all of the addresses. They follow the files (TRANSPORT-3).
func (f Files) Client(addresses ...string) (credentials.TransportCredentials, error) {
	c, err := Open(f, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", strings.Join(addresses, ", "), err)
	}
	return c.Client(addresses...)
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
