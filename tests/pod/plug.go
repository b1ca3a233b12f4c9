package pod

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// A plug makes an address swallow connection attempts: a socket listens on it with a full backlog and accepts
// nothing, so that the kernel drops every further SYN. Nothing else on one machine makes a connect time out.
type plug struct {
	fd     int
	filler []net.Conn
}

// fullAfter is how long an attempt may take before the backlog counts as full. A loopback connect that has room takes
// some microseconds.
const fullAfter = 200 * time.Millisecond

func plugAddress(address netip.AddrPort) (*plug, error) {
	family, sa := syscall.AF_INET6, syscall.Sockaddr(&syscall.SockaddrInet6{Port: int(address.Port()), Addr: address.Addr().As16()})
	if address.Addr().Is4() {
		family, sa = syscall.AF_INET, &syscall.SockaddrInet4{Port: int(address.Port()), Addr: address.Addr().As4()}
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a socket for %s: %w", address, err)
	}
	p := &plug{fd: fd}
	if err := p.fill(sa, address); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *plug) fill(sa syscall.Sockaddr, address netip.AddrPort) error {
	if err := syscall.SetsockoptInt(p.fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return fmt.Errorf("set SO_REUSEADDR for %s: %w", address, err)
	}
	if err := syscall.Bind(p.fd, sa); err != nil {
		return fmt.Errorf("bind %s: %w", address, err)
	}
	if err := syscall.Listen(p.fd, 0); err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	for range 8 {
		c, err := net.DialTimeout("tcp", address.String(), fullAfter)
		var ne net.Error
		switch {
		case errors.As(err, &ne) && ne.Timeout():
			return nil // the first attempt that is swallowed: full
		case err != nil:
			return fmt.Errorf("fill the backlog of %s: %w", address, err)
		}
		p.filler = append(p.filler, c)
	}
	return fmt.Errorf("the backlog of %s does not fill up", address)
}

// Close lets the address go.
func (p *plug) Close() {
	_ = syscall.Close(p.fd)
	for _, c := range p.filler {
		_ = c.Close()
	}
}
