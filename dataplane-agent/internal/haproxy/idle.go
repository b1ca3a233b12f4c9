package haproxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// idle looks, without waiting, whether a connection between two calls is as it should be: open, with nothing to read. It returns io.EOF
// when the other side has closed it.
func idle(conn net.Conn) error {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return nil
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return fmt.Errorf("look at the connection: %w", err)
	}
	var n int
	var peekErr error
	err = raw.Read(func(fd uintptr) bool {
		one := make([]byte, 1)
		n, _, peekErr = syscall.Recvfrom(int(fd), one, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	})
	switch {
	case err != nil:
		return fmt.Errorf("look at the connection: %w", err)
	case errors.Is(peekErr, syscall.EAGAIN), errors.Is(peekErr, syscall.EINTR):
		return nil
	case errors.Is(peekErr, syscall.ECONNRESET):
		return io.EOF
	case peekErr != nil:
		return fmt.Errorf("look at the connection: %w", peekErr)
	case n > 0:
		return fmt.Errorf("an answer that nobody has asked for: %w", ErrMalformed)
	default:
		return io.EOF
	}
}
