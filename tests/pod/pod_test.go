package pod

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-proxy/berth/tests/harness/claim"
)

func TestMain(m *testing.M) {
	Main()
	goleak.VerifyTestMain(m)
}

func address(t *testing.T) netip.AddrPort {
	t.Helper()
	block, err := claim.Mine()
	if err != nil {
		t.Fatal(err)
	}
	a, err := block.Address()
	if err != nil {
		t.Fatal(err)
	}
	return netip.AddrPortFrom(a, claim.PodPort)
}

// server is what both forms of a pod have in common.
type server interface {
	SetMode(Mode) error
	Terminate(context.Context, time.Duration) error
	Kill() error
	Requests() (int64, error)
}

// forBoth runs a test on a pod in this process and on one in its own.
func forBoth(t *testing.T, test func(t *testing.T, s server, a netip.AddrPort)) {
	t.Run("in-process", func(t *testing.T) {
		p, err := Start(Config{Name: "a", Service: "shop/web", Address: address(t)})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Kill()
		test(t, p, p.Config().Address)
	})
	t.Run("process", func(t *testing.T) {
		p, err := StartProcess(Config{Name: "a", Service: "shop/web", Address: address(t)})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Kill()
		test(t, p, p.Config().Address)
	})
}

// client returns an HTTP client with connections of its own that are closed with the test.
func client(t *testing.T, h2c bool) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!h2c)
	protocols.SetUnencryptedHTTP2(h2c)
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

func post(c *http.Client, a netip.AddrPort, path string, body []byte) (*http.Response, error) {
	resp, err := c.Post("http://"+a.String()+path, "application/octet-stream", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp, err
}

// POD-1, over both protocols.
func TestPOD1AnswersNameThePodAndTheBody(t *testing.T) {
	forBoth(t, func(t *testing.T, s server, a netip.AddrPort) {
		body := bytes.Repeat([]byte("berth"), 10_000)
		for _, h2c := range []bool{false, true} {
			resp, err := post(client(t, h2c), a, "/x", body)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{resp.Header.Get(HeaderPod), resp.Header.Get(HeaderService), resp.Header.Get(HeaderBodyLength), resp.Header.Get(HeaderBodySum)}
			want := []string{"a", "shop/web", "50000", fmt.Sprintf("%08x", crc32.ChecksumIEEE(body))}
			if fmt.Sprint(got) != fmt.Sprint(want) || (resp.ProtoMajor == 2) != h2c {
				t.Errorf("h2c=%v: %s %q, want %q", h2c, resp.Proto, got, want)
			}
		}
		if n, err := s.Requests(); err != nil || n != 2 {
			t.Errorf("counted %d requests (%v), want 2", n, err)
		}
	})
}

// POD-2: a new connection is served while the pod serves on, a request that runs is finished, then nothing listens.
func TestPOD2ServesOnThenEndsGracefully(t *testing.T) {
	forBoth(t, func(t *testing.T, s server, a netip.AddrPort) {
		ended := make(chan error, 1)
		start := time.Now()
		go func() { ended <- s.Terminate(t.Context(), 500*time.Millisecond) }()
		c := client(t, false)
		for time.Since(start) < 300*time.Millisecond {
			c.CloseIdleConnections()
			if _, err := post(c, a, "/", nil); err != nil {
				t.Fatalf("while serving on: %v", err)
			}
		}
		// This one begins before the pod stops and ends after.
		if _, err := post(c, a, "/slow?d=600ms", nil); err != nil {
			t.Errorf("request that ran at the end: %v", err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took < 800*time.Millisecond {
			t.Errorf("gone after %v, before its last request was answered", took)
		}
		if _, err := net.Dial("tcp", a.String()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial after the end: %v, want refused", err)
		}
	})
}

// POD-3: a request that runs when the pod is killed fails at once.
func TestPOD3KillCutsRunningRequests(t *testing.T) {
	forBoth(t, func(t *testing.T, s server, a netip.AddrPort) {
		failed := make(chan error, 1)
		go func() {
			_, err := post(client(t, false), a, "/slow?d=9s", nil)
			failed <- err
		}()
		waitForRequests(t, s, 1)
		start := time.Now()
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := <-failed; err == nil || time.Since(start) > 3*time.Second {
			t.Errorf("request on a killed pod: %v after %v", err, time.Since(start))
		}
	})
}

func waitForRequests(t *testing.T, s server, want int64) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); <-time.After(5 * time.Millisecond) {
		if n, err := s.Requests(); err == nil && n >= want {
			return
		}
	}
	t.Fatalf("fewer than %d requests after 5 s", want)
}

func TestModes(t *testing.T) {
	forBoth(t, func(t *testing.T, s server, a netip.AddrPort) {
		ask := func() error {
			c := client(t, false)
			c.Timeout = 300 * time.Millisecond
			_, err := post(c, a, "/", nil)
			return err
		}
		timedOut := func(err error) bool {
			var ne net.Error
			return errors.As(err, &ne) && ne.Timeout()
		}
		cases := []struct {
			mode Mode
			ok   func(error) bool
		}{
			{Refuse, func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }},
			{Alive, func(err error) bool { return err == nil }},
			{Reset, func(err error) bool { return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) }},
			{Hang, timedOut},
			{Blackhole, timedOut},
			{Alive, func(err error) bool { return err == nil }},
		}
		for _, c := range cases {
			if err := s.SetMode(c.mode); err != nil {
				t.Fatal(err)
			}
			if err := ask(); !c.ok(err) {
				t.Errorf("%s: %v", c.mode, err)
			}
			if c.mode == Hang || c.mode == Blackhole {
				conn, err := net.DialTimeout("tcp", a.String(), 300*time.Millisecond)
				if (err == nil) != (c.mode == Hang) {
					t.Errorf("%s: dial: %v", c.mode, err)
				}
				if err == nil {
					_ = conn.Close()
				}
			}
		}
		if err := s.SetMode("sleepy"); err == nil {
			t.Error("an unknown mode was accepted")
		}
	})
}

// SIGTERM to a pod process: exit at once, or serve on.
func TestSIGTERM(t *testing.T) {
	for _, serveOn := range []time.Duration{0, 400 * time.Millisecond} {
		p, err := StartProcess(Config{Name: "a", Service: "s", Address: address(t), ServeOn: serveOn})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := syscall.Kill(p.PID(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.exited:
		case <-time.After(10 * time.Second):
			t.Fatal("still there after 10 s")
		}
		if took := time.Since(start); took < serveOn || (serveOn == 0 && took > 3*time.Second) {
			t.Errorf("serveOn %v: gone after %v", serveOn, took)
		}
		_ = p.Kill()
	}
}

// POD-4: the pod's parent dies, and with it the other end of the pod's standard input.
func TestPOD4EndsWithItsParent(t *testing.T) {
	p, err := StartProcess(Config{Name: "a", Service: "s", Address: address(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	_ = p.stdin.Close()
	select {
	case <-p.exited:
	case <-time.After(10 * time.Second):
		t.Fatal("the pod lives on without its parent")
	}
}

func TestAnAddressInUseIsSaid(t *testing.T) {
	a := address(t)
	p, err := Start(Config{Name: "a", Address: a})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if _, err := StartProcess(Config{Name: "b", Address: a}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second pod on %s: %v", a, err)
	}
}
