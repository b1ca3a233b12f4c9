package plane

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"

	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/node"
	"github.com/berth-proxy/berth/dataplane-agent/internal/report"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Node is what the stream is for.
type Node interface {
	Hello() node.Hello
	Deliver(context.Context, wire.Update) (*fleetv1.Received, error)
	Inspect(context.Context, []string) ([]*fleetv1.InspectedBackend, error)
	SawEpoch(context.Context, uint64)
}

// Config is what a Client is started with. The zero durations stand for the defaults.
type Config struct {
	// Addresses are HOST:PORT of planes; any will do.
	Addresses []string
	// Credentials secure the connection.
	Credentials credentials.TransportCredentials
	// Fleet, Name, BootID and Version go into the Hello.
	Fleet, Name, BootID, Version string
	// Heartbeat and Silence: see PLANE-2. Defaults 5 s and 20 s.
	Heartbeat, Silence time.Duration
	// MinBackoff and MaxBackoff bound the waiting between two streams. Defaults 100 ms and 3 s: a node that is
	// told nothing of a plane that is back has to find it within the five seconds after which it is to have the newest.
	MinBackoff, MaxBackoff time.Duration
	// Dial is how long a connection may take until the plane's gRPC has answered. Default 10 s.
	Dial time.Duration
	// LongestWait bounds what a plane may ask a node to wait: one that is wrong about it strands nobody. Default 1 min.
	LongestWait time.Duration
}

// Client keeps one stream to one of the planes. Run is its only method.
type Client struct {
	cfg  Config
	node Node
	box  *report.Box
	log  zerolog.Logger
}

// New returns a Client; Run starts it.
func New(cfg Config, n Node, box *report.Box, log zerolog.Logger) *Client {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&cfg.Heartbeat, 5*time.Second)
	set(&cfg.Silence, 20*time.Second)
	set(&cfg.MinBackoff, 100*time.Millisecond)
	set(&cfg.MaxBackoff, 3*time.Second)
	set(&cfg.Dial, 10*time.Second)
	set(&cfg.LongestWait, time.Minute)
	return &Client{cfg: cfg, node: n, box: box, log: log}
}

// errWait is a stream's end that came with the time after which to try again.
type errWait struct {
	after   time.Duration
	message string
}

func (e errWait) Error() string { return "the plane asks to wait: " + e.message }

// pause is the time that was asked for, and up to a quarter more, so that nodes that were told the same do not come back at once.
func (e errWait) pause(longest time.Duration) time.Duration {
	after := min(e.after, longest)
	return after + rand.N(after/4+1) //nolint:gosec // Jitter is no secret.
}

// Run keeps a stream until ctx ends.
func (c *Client) Run(ctx context.Context) error {
	failures := 0
	told := "" // so that a plane that is away for an hour is one line
	for i := 0; ; i++ {
		address := c.cfg.Addresses[i%len(c.cfg.Addresses)]
		began := time.Now()
		welcomed, err := c.stream(ctx, address)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // The stream ended because the agent does.
		}
		if welcomed {
			told = ""
		}
		// A welcome alone proves nothing: two nodes of one name are welcomed again and again and end each other's streams, and an update that
		// cannot be taken ends each stream that brings it.
		if welcomed && time.Since(began) >= c.cfg.MaxBackoff {
			failures = 0
		}
		delay := c.delay(failures)
		failures++
		if wait := (errWait{}); errors.As(err, &wait) && wait.after > 0 {
			delay = wait.pause(c.cfg.LongestWait)
		}
		if text := fmt.Sprint(err); text != told {
			told = text
			c.log.Warn().Err(err).Str("plane", address).Dur("retry_in", delay).Msg("no stream to the control plane; traffic goes on with the last good state")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(delay):
		}
	}
}

// delay is exponential with full jitter.
func (c *Client) delay(failures int) time.Duration {
	most := min(c.cfg.MinBackoff<<min(failures, 20), c.cfg.MaxBackoff)
	return rand.N(most) + time.Millisecond //nolint:gosec // Jitter is no secret.
}

// window is how much may be on its way to the node. On a slow line it bounds how far behind the plane's heartbeats and questions come; over a hundred milliseconds it still lets more than a
// megabyte pass in a second.
const window = 128 << 10

// stream runs one stream to its end and says whether the plane has welcomed the node.
func (c *Client) stream(ctx context.Context, address string) (welcomed bool, err error) {
	arrived := &atomic.Int64{}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(counting{c.cfg.Credentials, arrived}),
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: c.cfg.Dial}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)))
	if err != nil {
		return false, fmt.Errorf("connect to plane %s: %w", address, err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stream, err := fleetv1.NewFleetServiceClient(conn).Sync(ctx)
	if err != nil {
		return false, fmt.Errorf("open a stream to plane %s: %w", address, err)
	}
	s := newSession(c, stream, arrived, cancel)
	if err := s.greet(); err != nil {
		return false, fmt.Errorf("greet plane %s: %w", address, err)
	}
	err = s.run(ctx)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return s.welcomed.Load(), fmt.Errorf("stream to plane %s: %w", address, err)
}
