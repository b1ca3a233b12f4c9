package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// rest is how often Run looks at the files. Handshakes look for themselves; it is for being told of a broken file before the next one.
const rest = 10 * time.Second

// Current is what the files hold now, or held when they last made sense (TRANSPORT-3). Without files it stands for plain text.
type Current struct {
	files Files
	given bool
	tell  func(err error)

	mu   sync.Mutex // guards the rest
	seen [3][]byte
	good material
	err  error
}

// material is one set of files that belong together.
type material struct {
	pair tls.Certificate
	pool *x509.CertPool
	ends time.Time
}

// Open reads the files, which must make sense now. Later, tell is called with what is wrong with them, once for each thing that is, and with nil when they
// are read anew; it may be nil.
func Open(f Files, tell func(err error)) (*Current, error) {
	given, err := f.Given()
	if err != nil {
		return nil, err
	}
	c := &Current{files: f, given: given, tell: tell}
	if !given {
		return c, nil
	}
	if c.seen, err = f.read(); err == nil {
		c.good, err = f.parse(c.seen)
	}
	return c, err
}

// Run looks at the files until ctx ends.
func (c *Current) Run(ctx context.Context) error {
	if !c.given {
		return nil
	}
	ticks := time.NewTicker(rest)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
			c.look()
		}
	}
}

// Given says whether there are files.
func (c *Current) Given() bool { return c.given }

// Left is how long this program's own certificate is still valid, less than nothing once it is not.
func (c *Current) Left() time.Duration { return time.Until(c.look().ends) }

// Problem is what is wrong with the files, so that an earlier state of them is used; nil when nothing is.
func (c *Current) Problem() error {
	c.look()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// look reads the files and gives the last that made sense. Contents are compared and not times: a rename, the swap of a symlink above and a file written in
// place are all the same then, and what was read between two of them is mended by the next look.
func (c *Current) look() material {
	good, changed, err := c.refresh()
	if changed && c.tell != nil {
		c.tell(err)
	}
	return good
}

func (c *Current) refresh() (good material, changed bool, problem error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, err := c.files.read()
	if err == nil {
		if same(now, c.seen) {
			return c.good, false, c.err
		}
		var next material
		if next, err = c.files.parse(now); err == nil {
			c.good = next
		}
		c.seen = now
	} else {
		c.seen = [3][]byte{} // whatever is there next is to be looked at
	}
	changed = err == nil || c.err == nil || err.Error() != c.err.Error()
	c.err = err
	return c.good, changed, err
}

func same(a, b [3][]byte) bool {
	return bytes.Equal(a[0], b[0]) && bytes.Equal(a[1], b[1]) && bytes.Equal(a[2], b[2])
}

func (f Files) read() (texts [3][]byte, err error) {
	if texts[0], err = os.ReadFile(f.Cert); err == nil {
		texts[1], err = os.ReadFile(f.Key)
	}
	if err != nil {
		return texts, fmt.Errorf("read certificate %s with key %s: %w", f.Cert, f.Key, err)
	}
	if texts[2], err = os.ReadFile(f.CA); err != nil {
		return texts, fmt.Errorf("read CA: %w", err)
	}
	return texts, nil
}

// parse takes only what is whole: of a file whose end is missing crypto/tls would use the beginning.
func (f Files) parse(texts [3][]byte) (material, error) {
	if _, err := certificates(texts[0]); err != nil {
		return material{}, fmt.Errorf("read certificate %s: %w", f.Cert, err)
	}
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return material{}, fmt.Errorf("read certificate %s with key %s: %w", f.Cert, f.Key, err)
	}
	authorities, err := certificates(texts[2])
	if err != nil {
		return material{}, fmt.Errorf("read CA %s: %w", f.CA, err)
	}
	m := material{pair: pair, pool: x509.NewCertPool(), ends: pair.Leaf.NotAfter}
	for _, a := range authorities {
		m.pool.AddCert(a)
	}
	return m, nil
}

func certificates(text []byte) ([]*x509.Certificate, error) {
	var list []*x509.Certificate
	for {
		block, after := pem.Decode(text)
		if block == nil {
			break
		}
		text = after
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d in it: %w", len(list)+1, err)
		}
		list = append(list, c)
	}
	switch {
	case bytes.Contains(text, []byte("-----BEGIN")):
		return nil, errors.New("its end is missing")
	case len(list) == 0:
		return nil, errors.New("there is no certificate in it")
	}
	return list, nil
}

// config is for one handshake.
func (c *Current) config() *tls.Config {
	m := c.look()
	// What was agreed on before a change of the authority must not be resumed after it.
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{m.pair}, RootCAs: m.pool, ClientCAs: m.pool, ClientAuth: tls.RequireAndVerifyClientCert,
		SessionTicketsDisabled: true,
	}
}

// Server returns the credentials of a gRPC listener on the address.
func (c *Current) Server(address string) (credentials.TransportCredentials, error) {
	config, err := c.ServerConfig(address)
	if err != nil {
		return nil, err
	}
	if config == nil {
		return insecure.NewCredentials(), nil
	}
	return credentials.NewTLS(config), nil
}

// ServerConfig returns what any listener on the address needs for TLS, nil for plain text.
func (c *Current) ServerConfig(address string) (*tls.Config, error) {
	if !c.given {
		if !Loopback(address) {
			return nil, fmt.Errorf("listen on %s: %w", address, ErrPlainText)
		}
		return nil, nil //nolint:nilnil // No configuration stands for plain text.
	}
	config := c.config()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.config(), nil }
	return config, nil
}

// Client returns the credentials for dialing all of the addresses.
func (c *Current) Client(addresses ...string) (credentials.TransportCredentials, error) {
	if c.given {
		return client{credentials.NewTLS(c.config()), c}, nil
	}
	for _, a := range addresses {
		if !Loopback(a) {
			return nil, fmt.Errorf("connect to %s: %w", a, ErrPlainText)
		}
	}
	return insecure.NewCredentials(), nil
}

// client shakes hands with what the files hold then.
type client struct {
	credentials.TransportCredentials
	current *Current
}

func (c client) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(c.current.config()).ClientHandshake(ctx, authority, raw) //nolint:wrapcheck // It is gRPC's own.
}

func (c client) Clone() credentials.TransportCredentials {
	return client{c.TransportCredentials.Clone(), c.current}
}
