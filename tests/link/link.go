package link

import (
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-proxy/berth/tests/harness"
)

// Way is a direction.
type Way int

// The directions: Up is from the node to the plane, Down from the plane to the node.
const (
	Up Way = iota
	Down
)

// A Link relays connections to one address.
type Link struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup
	passed   [2]atomic.Int64

	mu    sync.Mutex // guards what follows
	state state
	// changed is closed when state changes.
	changed chan struct{}
	pairs   []*pair
	count   int
	// cuts counts Cut and Abandon, so that a connection that is just being made is not missed.
	cuts int
}

// state is what the link does to all of its connections.
type state struct {
	stopped   [2]bool
	refused   bool
	abandoned bool
	rate      int
	closed    bool
}

// pair is a connection: near is the node's side, far the plane's.
type pair struct {
	near, far net.Conn
	// ended is closed when the pair was cut.
	ended chan struct{}
	once  sync.Once
	// abandoned says that the plane is to see an open connection until the link is good again.
	abandoned atomic.Bool
}

// end ends both sides at once, with a reset.
func (p *pair) end() {
	p.once.Do(func() { close(p.ended) })
	for _, c := range []net.Conn{p.near, p.far} {
		abort(c)
	}
}

// abort closes with a reset: what was not read or sent yet is lost.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// New starts a link to an address; it ends with the test.
func New(t harness.T, target string) *Link {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", harness.Port(t)))
	if err != nil {
		t.Fatalf("start a link to %s: %v", target, err)
	}
	k := &Link{listener: l, target: target, changed: make(chan struct{})}
	k.running.Go(k.accept)
	t.Cleanup(func() {
		_ = l.Close()
		k.set(func(s *state) { s.closed = true })
		k.Cut()
		k.running.Wait()
	})
	return k
}

// Address is where the node connects.
func (k *Link) Address() string { return k.listener.Addr().String() }

// Passed is how many bytes have passed in a direction, whatever gRPC made of them.
func (k *Link) Passed(way Way) int64 { return k.passed[way].Load() }

// Connections is how many connections there have been.
func (k *Link) Connections() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.count
}

// Open is how many connections there are.
func (k *Link) Open() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.pairs)
}

// set changes the state and wakes whoever waits for it.
func (k *Link) set(change func(*state)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(&k.state)
	close(k.changed)
	k.changed = make(chan struct{})
}

// look is the state, and a channel that is closed when it changes.
func (k *Link) look() (state, <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state, k.changed
}

// Cut ends all connections with a reset. New ones are taken (see Refuse).
func (k *Link) Cut() {
	for _, p := range k.all() {
		p.end()
	}
}

// all are the connections that there are, for something that is done to each of them.
func (k *Link) all() []*pair {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cuts++
	return slices.Clone(k.pairs)
}

// Refuse ends each new connection at once, until Restore.
func (k *Link) Refuse() { k.set(func(s *state) { s.refused = true }) }

// Stop lets nothing pass in a direction any more; the connections stay open.
func (k *Link) Stop(way Way) { k.set(func(s *state) { s.stopped[way] = true }) }

// Go lets everything pass in a direction again.
func (k *Link) Go(way Way) { k.set(func(s *state) { s.stopped[way] = false }) }

// Slow bounds what passes in each direction of a connection, in bytes a second; 0 is no bound.
func (k *Link) Slow(rate int) { k.set(func(s *state) { s.rate = rate }) }

// Abandon cuts the node off while the plane goes on seeing its connection, as a network does that forgets one: nothing that the plane sends on it arrives
// anywhere, and what the node had sent and was held back arrives with Restore, before the connection ends. New connections are as any.
func (k *Link) Abandon() {
	k.set(func(s *state) { s.abandoned = true })
	for _, p := range k.all() {
		p.abandoned.Store(true)
		abort(p.near)
	}
}

// Restore makes it a good network again. Abandoned connections end.
func (k *Link) Restore() {
	k.set(func(s *state) { *s = state{closed: s.closed} })
}

func (k *Link) accept() {
	for {
		near, err := k.listener.Accept()
		if err != nil {
			return
		}
		k.mu.Lock()
		refused, cuts := k.state.refused || k.state.closed, k.cuts
		k.mu.Unlock()
		if refused {
			abort(near)
			continue
		}
		far, err := net.Dial("tcp", k.target)
		if err != nil {
			abort(near)
			continue
		}
		p := &pair{near: near, far: far, ended: make(chan struct{})}
		k.mu.Lock()
		k.pairs = append(k.pairs, p)
		k.count++
		late := k.state.closed || k.cuts != cuts
		k.mu.Unlock()
		if late {
			p.end()
		}
		k.running.Go(func() { k.relay(p) })
	}
}

// relay serves a connection until it ends.
func (k *Link) relay(p *pair) {
	var ways sync.WaitGroup
	ways.Go(func() { k.copy(p, Up, p.near, p.far) })
	ways.Go(func() { k.copy(p, Down, p.far, p.near) })
	ways.Wait()
	p.end()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pairs = slices.DeleteFunc(k.pairs, func(other *pair) bool { return other == p })
}

// copy carries one direction until an end of the connection is gone, and then ends the other.
func (k *Link) copy(p *pair, way Way, from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		chunk := len(buffer)
		if s, _ := k.look(); s.rate > 0 {
			chunk = min(chunk, max(s.rate/20, 1))
		}
		n, err := from.Read(buffer[:chunk])
		if n > 0 && !k.pass(p, way, n) {
			break
		}
		if n > 0 {
			k.passed[way].Add(int64(n))
			if _, failed := to.Write(buffer[:n]); failed != nil && !(way == Down && p.abandoned.Load()) {
				err = failed
			}
		}
		if err != nil {
			break
		}
	}
	k.linger(p)
	if tcp, ok := p.far.(*net.TCPConn); ok && way == Up && p.abandoned.Load() {
		_ = tcp.CloseWrite() // so that what was held back arrives before the end
		return
	}
	p.end()
}

// pass waits until n bytes may pass, and says whether the connection is still there.
func (k *Link) pass(p *pair, way Way, n int) bool {
	paid := false
	for {
		s, changed := k.look()
		if s.closed {
			return false
		}
		var due <-chan time.Time
		if !s.stopped[way] && (!p.abandoned.Load() || !s.abandoned) {
			if s.rate == 0 || paid {
				return true
			}
			due = time.After(time.Duration(n) * time.Second / time.Duration(s.rate))
		}
		select {
		case <-p.ended:
			return false
		case <-changed:
		case <-due:
			paid = true
		}
	}
}

// linger waits for as long as the side that is left is to see an open connection.
func (k *Link) linger(p *pair) {
	for {
		s, changed := k.look()
		if !p.abandoned.Load() || !s.abandoned || s.closed {
			return
		}
		select {
		case <-p.ended:
			return
		case <-changed:
		}
	}
}
