package link

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// target takes connections for the test to use.
func target(t *testing.T) (address string, conns <-chan net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan net.Conn, 8)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			taken <- c
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return l.Addr().String(), taken
}

// connected is a link with one connection, from the node's side to the plane's.
func connected(t *testing.T) (k *Link, near, far net.Conn) {
	t.Helper()
	address, conns := target(t)
	k = New(t, address)
	near, err := net.Dial("tcp", k.Address())
	if err != nil {
		t.Fatal(err)
	}
	far = <-conns
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return k, near, far
}

func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("heard %q, %v, want %q", got, err, want)
	}
}

// silent fails if something comes or the connection ends in a tenth of a second.
func silent(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%d bytes, %v, want silence", n, err)
	}
}

func gone(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%v, want the connection's end", err)
	}
}

func TestLINK1AStoppedDirectionHoldsEverythingBack(t *testing.T) {
	k, near, far := connected(t)
	say(t, near, "up")
	hear(t, far, "up")
	k.Stop(Up)
	say(t, near, "later")
	say(t, far, "down")
	hear(t, near, "down")
	silent(t, far)
	k.Go(Up)
	hear(t, far, "later")
	if up, down := k.Passed(Up), k.Passed(Down); up != 7 || down != 4 {
		t.Errorf("%d bytes have passed up and %d down, want 7 and 4", up, down)
	}
}

func TestLINK1ACutConnectionIsGone(t *testing.T) {
	k, near, far := connected(t)
	k.Stop(Down)
	say(t, far, "lost")
	k.Refuse()
	k.Cut()
	gone(t, near)
	gone(t, far)
	again, err := net.Dial("tcp", k.Address())
	if err == nil {
		defer func() { _ = again.Close() }()
		gone(t, again)
	}
	harness.WaitFor(t, 10*time.Second, "the link to be without connections", func() bool { return k.Open() == 0 })
}

func TestASlowLinkIsAsSlowAsItIsSaid(t *testing.T) {
	k, near, far := connected(t)
	k.Slow(20000)
	began := time.Now()
	say(t, far, string(make([]byte, 10000)))
	hear(t, near, string(make([]byte, 10000)))
	if took := time.Since(began); took < 400*time.Millisecond || took > 5*time.Second {
		t.Errorf("10,000 bytes took %s at 20,000 a second", took)
	}
	k.Slow(0)
	say(t, far, "quick")
	hear(t, near, "quick")
}

func TestLINK2AnAbandonedSideSeesItsConnection(t *testing.T) {
	address, conns := target(t)
	k := New(t, address)
	dial := func() (near, far net.Conn) {
		near, err := net.Dial("tcp", k.Address())
		if err != nil {
			t.Fatal(err)
		}
		far = <-conns
		t.Cleanup(func() { _, _ = near.Close(), far.Close() })
		return near, far
	}
	near, far := dial()
	k.Stop(Up)
	say(t, near, "late")
	silent(t, far) // and the relay has read it meanwhile: what it has not read is lost with the connection
	k.Abandon()
	gone(t, near)
	k.Go(Up)
	newNear, newFar := dial()
	say(t, newNear, "new")
	hear(t, newFar, "new")
	say(t, far, "into the void")
	silent(t, far)
	k.Restore()
	hear(t, far, "late")
	gone(t, far)
	say(t, newFar, "still there")
	hear(t, newNear, "still there")
}
