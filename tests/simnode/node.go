package simnode

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Manner is how a node behaves.
type Manner int

// The manners. None of the last three answers; all of them beat.
const (
	// Well is as an agent does.
	Well Manner = iota
	// StopsReading greets and reads nothing of what follows.
	StopsReading
	// Floods greets and sends reports as fast as they are taken.
	Floods
	// NeverAnswers reads everything and answers nothing.
	NeverAnswers
)

// Options says what a node is.
type Options struct {
	// Planes are HOST:PORT, tried in turn.
	Planes []string
	// Conn is a connection that nodes share; each has its own without one.
	Conn        *grpc.ClientConn
	Fleet, Name string
	Manner      Manner
	// MarksOnly makes a node that holds no content: cheap, and able to take anything.
	MarksOnly bool
	// Applied is told of each update that the node has taken; it must not block. It may be nil.
	Applied func(n *Node, held wire.Marks)
}

// Counts is what a node has seen since it was made.
type Counts struct {
	// Streams that were welcomed, and Waits that were asked for.
	Streams, Waits int
	// Updates that were complete, Everything those of them that carry everything, Bytes of all their frames.
	Updates, Everything, Bytes int
	// Asked are the questions for buckets, Positions those for positions.
	Asked, Positions int
	// Confirmed are updates that change nothing.
	Confirmed int
}

// A Node is one simulated node.
type Node struct {
	options Options

	mu         sync.Mutex // guards what follows
	rev        *snapshot.Revision
	gen        *snapshot.Generation
	held       wire.Marks
	epoch      uint64
	counts     Counts
	violations []string
	last       error
	welcomed   bool
}

// New makes a node that holds nothing.
func New(o Options) *Node {
	return &Node{options: o, rev: snapshot.EmptyRevision(), gen: snapshot.EmptyGeneration()}
}

// Name is the node's name.
func (n *Node) Name() string { return n.options.Name }

// Held is what the node holds.
func (n *Node) Held() wire.Marks {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.held
}

// Connected says whether the node has a stream that was welcomed.
func (n *Node) Connected() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.welcomed
}

// Counts is what the node has seen so far.
func (n *Node) Counts() Counts {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.counts
}

// Violations are what a plane must never do to a node.
func (n *Node) Violations() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.violations...)
}

// Ended is how the last stream ended, nil before that.
func (n *Node) Ended() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

func (n *Node) count(change func(*Counts)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(&n.counts)
}

func (n *Node) violated(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.violations) < 20 {
		n.violations = append(n.violations, n.options.Name+": "+fmt.Sprintf(format, args...))
	}
}

// The waits of an agent.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 3 * time.Second
	heartbeat  = 5 * time.Second
)

// Run keeps a stream until ctx ends.
func (n *Node) Run(ctx context.Context) {
	attempt := 0
	for failures := 0; ctx.Err() == nil; failures++ {
		began := time.Now()
		wait, err := n.connect(ctx, attempt)
		attempt++
		n.mu.Lock()
		n.last, n.welcomed = err, false
		n.mu.Unlock()
		if time.Since(began) >= maxBackoff {
			failures = 0
		}
		pause := rand.N(min(minBackoff<<min(failures, 20), maxBackoff)) + time.Millisecond
		if wait > 0 {
			pause = wait + rand.N(wait/4+1)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// connect runs one stream and says how long the plane asks to wait.
func (n *Node) connect(ctx context.Context, attempt int) (wait time.Duration, err error) {
	conn := n.options.Conn
	if conn == nil {
		if conn, err = Dial(n.options.Planes[attempt%len(n.options.Planes)]); err != nil {
			return 0, err
		}
		defer func() { _ = conn.Close() }()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := fleetv1.NewFleetServiceClient(conn).Sync(ctx)
	if err != nil {
		return 0, fmt.Errorf("open a stream: %w", err)
	}
	s := &session{node: n, stream: stream}
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	if err := s.greet(); err != nil {
		return 0, err
	}
	beside.Go(func() { s.beat(ctx) })
	switch n.options.Manner {
	case StopsReading:
		if err := s.one(); err != nil {
			return 0, err
		}
		<-ctx.Done()
		return 0, ctx.Err()
	case Floods:
		beside.Go(func() { s.flood(ctx) })
	case Well, NeverAnswers:
	}
	for {
		if err := s.one(); err != nil {
			if w := (waitError{}); errors.As(err, &w) {
				return w.after, err
			}
			return 0, err
		}
	}
}

// Dial makes a connection for nodes.
func Dial(address string) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)))
	if err != nil {
		return nil, fmt.Errorf("connect to plane %s: %w", address, err)
	}
	return conn, nil
}

// waitError is a stream's end that came with the time after which to try again.
type waitError struct{ after time.Duration }

func (w waitError) Error() string { return fmt.Sprintf("asked to wait %s", w.after) }
