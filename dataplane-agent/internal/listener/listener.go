// Package listener knows which addresses this node's HAProxy listens on, so that no server is ever pointed at HAProxy itself: such a server would send a
// request round in a loop until it fails.
package listener

import (
	"net"
	"net/netip"
)

// Set is what HAProxy listens on. It is immutable and may be used by any goroutine.
type Set struct {
	ports []uint16
	// bind is the address of the listeners; the zero Addr or an unspecified one stands for every address of the machine.
	bind netip.Addr
	// local says whether an address is one of the machine's own.
	local func(netip.Addr) bool
}

// New describes listeners on the given ports of one address, or of all addresses if bind is not valid or is unspecified.
func New(bind netip.Addr, ports ...uint16) Set {
	return Set{ports: ports, bind: bind.Unmap(), local: isLocal}
}

// Contains says whether a server at that address would be HAProxy itself. It asks the kernel, and only if the port is one of the listeners'.
func (s Set) Contains(server netip.AddrPort) bool {
	for _, p := range s.ports {
		if p != server.Port() {
			continue
		}
		if s.bind.IsValid() && !s.bind.IsUnspecified() {
			return s.bind == server.Addr().Unmap()
		}
		return s.local(server.Addr())
	}
	return false
}

// isLocal says whether the kernel delivers to the address on this machine. Interfaces do not tell (a local route makes any address local), but the source
// address that the kernel chooses for a destination of its own is that destination. Connecting a UDP socket sends nothing.
func isLocal(a netip.Addr) bool {
	if a.IsLoopback() || a.IsUnspecified() {
		return true
	}
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, 9)))
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	source, ok := conn.LocalAddr().(*net.UDPAddr)
	return ok && source.AddrPort().Addr().Unmap() == a.Unmap()
}
