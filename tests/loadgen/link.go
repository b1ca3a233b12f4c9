package loadgen

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A link is one connection.
type link interface {
	// usable tells whether another request may be written, and takes a place for it. With HTTP/1 no other exchange runs.
	usable() (bool, error)
	// exchange writes the request and reads the answer with its whole body. It never writes a request twice.
	exchange(ctx context.Context, req *http.Request) (answer, error)
	localPort() int
	close()
}

type answer struct {
	status int
	header http.Header
	last   bool // the proxy said that the connection ends with this answer
}

// errRace says that the connection was closed before the first byte of an answer; only on a reused connection is that
// a race.
var errRace = errors.New("closed before an answer")

// errUnsent says that the connection ended before a byte of the request was made ready: it was idle, as far as this
// request goes.
var errUnsent = errors.New("closed before the request")

// errUnsolicited says that an idle connection had something to read.
var errUnsolicited = errors.New("the proxy sent bytes that no request asked for")

func dial(ctx context.Context, t Target, p Profile, host string) (link, error) {
	if p.HTTP2 {
		return dialHTTP2(ctx, t, host)
	}
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", t.Address)
	if err != nil {
		return nil, err
	}
	conn := raw
	if t.TLS {
		secure := tls.Client(raw, tlsConfig(host, "http/1.1"))
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, err
		}
		conn = secure
	}
	return &link1{raw: raw.(*net.TCPConn), conn: conn, in: bufio.NewReader(conn)}, nil
}

func tlsConfig(host, protocol string) *tls.Config {
	return &tls.Config{ServerName: host, InsecureSkipVerify: true, NextProtos: []string{protocol}}
}

// link1 is an HTTP/1 connection.
type link1 struct {
	raw  *net.TCPConn
	conn net.Conn // raw, or TLS over it
	in   *bufio.Reader
	out  bytes.Buffer // one request, which is then written at once
}

func (l *link1) localPort() int { return l.raw.LocalAddr().(*net.TCPAddr).Port }
func (l *link1) close()         { _ = l.conn.Close() }

// usable looks whether the peer has closed, without waiting: peeking at the socket costs a microsecond, a read with a
// deadline would cost a busy connection its pace.
func (l *link1) usable() (bool, error) {
	if l.in.Buffered() > 0 {
		return false, errUnsolicited
	}
	n, err := l.peek()
	switch {
	case errors.Is(err, syscall.EAGAIN):
		return true, nil // nothing to read, nothing closed
	case err == nil && n > 0 && l.conn == net.Conn(l.raw):
		return false, errUnsolicited
	case err == nil && n > 0:
		return l.usableTLS()
	}
	return false, nil
}

func (l *link1) peek() (int, error) {
	rc, err := l.raw.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	var peeked error
	err = rc.Read(func(fd uintptr) bool {
		n, _, peeked = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	})
	return n, errors.Join(err, peeked)
}

// usableTLS reads what is there: a session ticket, which is nothing, or the end.
func (l *link1) usableTLS() (bool, error) {
	_ = l.conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := l.in.Peek(1)
	var ne net.Error
	switch {
	case err == nil:
		return false, errUnsolicited
	case errors.As(err, &ne) && ne.Timeout():
		return true, nil
	}
	return false, nil
}

func (l *link1) exchange(ctx context.Context, req *http.Request) (answer, error) {
	deadline, _ := ctx.Deadline()
	_ = l.conn.SetDeadline(deadline)
	l.out.Reset()
	if err := req.Write(&l.out); err != nil {
		return answer{}, err
	}
	if _, err := l.conn.Write(l.out.Bytes()); err != nil {
		return answer{}, noAnswer(err)
	}
	if _, err := l.in.Peek(1); err != nil {
		return answer{}, noAnswer(err)
	}
	resp, err := http.ReadResponse(l.in, req)
	if err != nil {
		return answer{}, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return answer{status: resp.StatusCode, header: resp.Header, last: resp.Close}, err
}

// noAnswer tells a connection that was closed from other trouble.
func noAnswer(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("%w: %w", errRace, err)
	}
	return err
}

// link2 is an HTTP/2 connection. net/http's ClientConn is one connection and sends a request once.
type link2 struct {
	transport *http.Transport
	conn      *http.ClientConn
	port      int
}

func dialHTTP2(ctx context.Context, t Target, host string) (link, error) {
	l := &link2{transport: &http.Transport{TLSClientConfig: tlsConfig(host, "h2"), Protocols: new(http.Protocols)}}
	scheme := "http"
	if t.TLS {
		scheme = "https"
	}
	l.transport.Protocols.SetUnencryptedHTTP2(!t.TLS)
	l.transport.Protocols.SetHTTP2(t.TLS)
	var once sync.Once
	l.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			once.Do(func() { l.port = c.LocalAddr().(*net.TCPAddr).Port })
		}
		return c, err
	}
	var err error
	l.conn, err = l.transport.NewClientConn(ctx, scheme, t.Address)
	return l, err
}

func (l *link2) localPort() int { return l.port }
func (l *link2) close()         { _ = l.conn.Close() }

// usable is false from the moment that the proxy's GOAWAY is here.
func (l *link2) usable() (bool, error) { return l.conn.Reserve() == nil, nil }

func (l *link2) exchange(ctx context.Context, req *http.Request) (answer, error) {
	var begun atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaderField: func(string, []string) { begun.Store(true) }}
	resp, err := l.conn.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, trace)))
	switch {
	case err != nil && ctx.Err() != nil:
		return answer{}, ctx.Err()
	case err != nil && !begun.Load():
		return answer{}, fmt.Errorf("%w: %w", errUnsent, err)
	case err != nil && l.conn.Available() == 0:
		return answer{}, fmt.Errorf("%w: %w", errRace, err)
	case err != nil:
		return answer{}, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return answer{status: resp.StatusCode, header: resp.Header}, err
}
