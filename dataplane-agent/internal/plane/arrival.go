package plane

import (
	"context"
	"net"
	"sync/atomic"

	"google.golang.org/grpc/credentials"
)

// counting are credentials that count what arrives on the connections that they secure. A message counts once it is whole, and on a slow line a large
// one may take longer than a stream may be silent.
type counting struct {
	credentials.TransportCredentials
	arrived *atomic.Int64
}

func (c counting) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.TransportCredentials.ClientHandshake(ctx, authority, countedConn{raw, c.arrived}) //nolint:wrapcheck // It is gRPC's own.
}

func (c counting) Clone() credentials.TransportCredentials {
	return counting{c.TransportCredentials.Clone(), c.arrived}
}

// countedConn counts what is read.
type countedConn struct {
	net.Conn
	arrived *atomic.Int64
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.arrived.Add(int64(n))
	return n, err //nolint:wrapcheck // It is the connection's own.
}
