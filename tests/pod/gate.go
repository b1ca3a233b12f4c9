package pod

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
)

// A gate is the pod's listener: it accepts, refuses, resets or swallows connections as the pod's mode says, and knows
// every open connection, because the HTTP server itself cannot reset one.
type gate struct {
	address netip.AddrPort
	conns   chan net.Conn
	closed  chan struct{}
	accepts sync.WaitGroup // the accept loops, one for each listener that the gate had

	mu      sync.Mutex // guards what follows
	mode    Mode
	changed chan struct{} // closed and replaced when the mode changes
	ln      net.Listener  // nil while nothing listens
	plug    *plug         // set while the address swallows connection attempts
	open    map[*conn]struct{}
	over    bool
}

type conn struct {
	net.Conn
	gate *gate
}

func (c *conn) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.open, c)
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

func newGate(address netip.AddrPort) (*gate, error) {
	g := &gate{
		address: address,
		conns:   make(chan net.Conn),
		closed:  make(chan struct{}),
		changed: make(chan struct{}),
		open:    map[*conn]struct{}{},
		mode:    Alive,
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g, g.listenLocked()
}

func (g *gate) listenLocked() error {
	ln, err := net.Listen("tcp", g.address.String())
	if err != nil {
		return err
	}
	g.ln = ln
	g.accepts.Add(1)
	go g.acceptFrom(ln)
	return nil
}

func (g *gate) acceptFrom(ln net.Listener) {
	defer g.accepts.Done()
	for {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		c := &conn{Conn: nc, gate: g}
		g.mu.Lock()
		refuse := g.over || g.mode == Reset || g.ln != ln
		if !refuse {
			g.open[c] = struct{}{}
		}
		g.mu.Unlock()
		if refuse {
			abort(nc)
			continue
		}
		select {
		case g.conns <- c:
		case <-g.closed:
			_ = c.Close()
			return
		}
	}
}

// Accept gives the HTTP server the next connection.
func (g *gate) Accept() (net.Conn, error) {
	select {
	case c := <-g.conns:
		return c, nil
	case <-g.closed:
		return nil, net.ErrClosed
	}
}

// Addr is the pod's address, whether something listens on it or not.
func (g *gate) Addr() net.Addr { return net.TCPAddrFromAddrPort(g.address) }

// Close ends the gate for good. Connections that were handed out stay open.
func (g *gate) Close() error {
	g.mu.Lock()
	if g.over {
		g.mu.Unlock()
		return nil
	}
	g.over = true
	close(g.closed)
	g.shutLocked()
	g.mu.Unlock()
	g.accepts.Wait()
	return nil
}

func (g *gate) shutLocked() {
	if g.ln != nil {
		_ = g.ln.Close()
		g.ln = nil
	}
	if g.plug != nil {
		g.plug.Close()
		g.plug = nil
	}
}

func (g *gate) setMode(m Mode) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return net.ErrClosed
	}
	var err error
	switch m {
	case Alive, Hang, Reset:
		if g.ln == nil {
			g.shutLocked()
			err = g.listenLocked()
		}
	case Refuse:
		g.shutLocked()
	case Blackhole:
		g.shutLocked()
		g.plug, err = plugAddress(g.address)
	default:
		return fmt.Errorf("no such mode")
	}
	if err != nil {
		return err
	}
	g.mode = m
	close(g.changed)
	g.changed = make(chan struct{})
	if m == Refuse || m == Reset {
		g.resetLocked()
	}
	return nil
}

func (g *gate) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shutLocked()
	g.resetLocked()
}

func (g *gate) resetLocked() {
	for c := range g.open {
		abort(c.Conn)
		delete(g.open, c)
	}
}

// abort closes with RST instead of FIN.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// wait holds a request for as long as the pod hangs, and tells whether it may be answered.
func (g *gate) wait(ctx context.Context) bool {
	for {
		g.mu.Lock()
		mode, changed := g.mode, g.changed
		g.mu.Unlock()
		if mode != Hang && mode != Blackhole {
			return true
		}
		select {
		case <-changed:
		case <-g.closed:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
