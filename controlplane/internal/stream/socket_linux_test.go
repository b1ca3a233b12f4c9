package stream

import (
	"net"
	"syscall"
	"testing"
)

// A node that reads nothing costs the kernel little as well (STREAM-5).
func TestAConnectionHoldsLittleUnsent(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listener(plain)
	defer func() { _ = l.Close() }()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = near.Close() }()
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	raw, err := far.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var got int
	if controlled := raw.Control(func(fd uintptr) { got, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotsentLowat) }); controlled != nil {
		t.Fatal(controlled)
	}
	if err != nil || got != unsent {
		t.Errorf("a connection may hold %d bytes unsent, %v, want %d", got, err, unsent)
	}
}
