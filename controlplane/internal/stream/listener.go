package stream

import "net"

// Listener bounds what the connections of a listener for nodes hold in the kernel.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		bound(c)
	}
	return c, err //nolint:wrapcheck // It is the listener's own.
}
