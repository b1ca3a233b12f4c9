package stream

import (
	"net"
	"syscall"
)

// unsent is how much of what the plane has written a connection may hold that the kernel has not sent yet. What is on its way has no such bound, so that a fast line stays fast; what
// a node does not read would otherwise fill some megabytes of the kernel's memory for each.
const unsent = 32 << 10

// tcpNotsentLowat is TCP_NOTSENT_LOWAT, which the standard library does not name.
const tcpNotsentLowat = 25

// bound makes a connection hold little that was not sent. One that cannot be told works all the same.
func bound(c net.Conn) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := s.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotsentLowat, unsent)
		})
	}
}
