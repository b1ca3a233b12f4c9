package loadgen

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-proxy/berth/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// proxy is a listener that treats each connection as a test says; connections counts them.
func proxy(t *testing.T, treat func(conn *net.TCPConn, in *bufio.Reader, number int)) Target {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", harness.Port(t)))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for number := 1; ; number++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			treat(conn.(*net.TCPConn), bufio.NewReader(conn), number)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return Target{Name: "fake", Address: l.Addr().String()}
}

// answerOnce reads one request and writes an answer of service s, with extra header lines.
func answerOnce(conn net.Conn, in *bufio.Reader, extra string) bool {
	req, err := http.ReadRequest(in)
	if err != nil {
		return false
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return false
	}
	_, err = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nX-Pod: p\r\n%sContent-Length: 3\r\n\r\nabc", extra)
	return err == nil
}

// What a fake proxy cannot read or write is seen at the client's end.
func readRequest(in *bufio.Reader)     { _, _ = http.ReadRequest(in) }
func write(conn net.Conn, text string) { _, _ = io.WriteString(conn, text) }
func drain(in io.Reader)               { _, _ = io.Copy(io.Discard, in) }

const service = "X-Service: s\r\n"

// send runs one client of a profile until it has sent some requests.
func send(t *testing.T, target Target, p Profile, requests int64) Stats {
	t.Helper()
	g, err := New(Config{
		Targets: []Target{target}, Routes: []Route{{Service: "s"}}, Loads: []Load{{p, 1}}, Timeout: 300 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan Stats, 1)
	go func() { done <- g.Run(ctx) }()
	harness.WaitFor(t, 20*time.Second, "requests to be sent", func() bool { return g.Stats().Requests >= requests })
	cancel()
	return <-done
}

// Each way of a proxy to fail a request, and what must be said of the first two requests.
func TestLOAD3FailuresByKind(t *testing.T) {
	get, post := Profile{Name: "get", MinGap: 50 * time.Millisecond, MaxGap: 50 * time.Millisecond}, Post
	cases := []struct {
		name    string
		profile Profile
		treat   func(conn *net.TCPConn, in *bufio.Reader, number int)
		want    []Kind // of the first requests; empty for success
	}{
		{"all is well", get, func(c *net.TCPConn, in *bufio.Reader, _ int) {
			for answerOnce(c, in, service) {
			}
		}, []Kind{"", "", ""}},
		{"said that it closes", get, func(c *net.TCPConn, in *bufio.Reader, _ int) {
			answerOnce(c, in, service+"Connection: close\r\n")
		}, []Kind{"", "", ""}},
		{"LOAD-2 closed while idle", get, func(c *net.TCPConn, in *bufio.Reader, _ int) {
			answerOnce(c, in, service)
		}, []Kind{"", "", ""}},
		{"LOAD-2 reset while idle", get, func(c *net.TCPConn, in *bufio.Reader, _ int) {
			answerOnce(c, in, service)
			_ = c.SetLinger(0)
		}, []Kind{"", "", ""}},
		{"LOAD-2 closed under the second request", get, func(c *net.TCPConn, in *bufio.Reader, number int) {
			if answerOnce(c, in, service); number == 1 {
				readRequest(in)
			}
		}, []Kind{"", Race, ""}},
		{"closed under a fresh connection's request", get, func(c *net.TCPConn, in *bufio.Reader, _ int) {
			readRequest(in)
		}, []Kind{Cut, Cut}},
		{"closed in the middle of the answer", get, func(c *net.TCPConn, in *bufio.Reader, _ int) {
			readRequest(in)
			write(c, "HTTP/1.1 200 OK\r\nX-Pod: p\r\nX-Service: s\r\nContent-Length: 30\r\n\r\nabc")
		}, []Kind{Cut, Cut}},
		{"no answer", get, func(c *net.TCPConn, in *bufio.Reader, _ int) {
			drain(in)
		}, []Kind{Timeout, Timeout}},
		{"an answer to nothing", get, func(c *net.TCPConn, in *bufio.Reader, _ int) {
			answerOnce(c, in, service)
			write(c, "HTTP/1.1 408 Request Time-out\r\n\r\n")
			drain(in)
		}, []Kind{"", Unsolicited, ""}},
		{"another status", get, func(c *net.TCPConn, in *bufio.Reader, _ int) {
			readRequest(in)
			write(c, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
			drain(in)
		}, []Kind{Status}},
		{"another service", get, func(c *net.TCPConn, in *bufio.Reader, _ int) {
			for answerOnce(c, in, "X-Service: other\r\n") {
			}
		}, []Kind{Stranger, Stranger}},
		{"nobody who names himself", get, func(c *net.TCPConn, in *bufio.Reader, _ int) {
			for answerOnce(c, in, "") {
			}
		}, []Kind{Stranger, Stranger}},
		{"another body", post, func(c *net.TCPConn, in *bufio.Reader, _ int) {
			for answerOnce(c, in, service+"X-Body-Sum: 00000000\r\n") {
			}
		}, []Kind{Body, Body}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stats := send(t, proxy(t, c.treat), c.profile, int64(len(c.want)))
			var got, want []Kind
			for _, f := range stats.Samples {
				got = append(got, f.Kind)
			}
			for _, k := range c.want {
				if k != "" {
					want = append(want, k)
				}
			}
			// A request more may have been sent than was waited for.
			if len(got) > len(want) && stats.Requests > int64(len(c.want)) {
				got = got[:len(want)]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n%s", diff, stats)
			}
		})
	}
}

// LOAD-1: what the proxy sees is what was counted, although every second connection is closed under its request.
func TestLOAD1NothingIsSentTwice(t *testing.T) {
	for _, p := range []Profile{KeepAlive, Post} {
		var seen atomic.Int64
		stats := send(t, proxy(t, func(c *net.TCPConn, in *bufio.Reader, number int) {
			for range 2 {
				req, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				drain(req.Body)
				seen.Add(1)
				if number%2 == 0 {
					return
				}
				write(c, "HTTP/1.1 200 OK\r\nX-Pod: p\r\nX-Service: s\r\nContent-Length: 0\r\n\r\n")
			}
		}), p, 40)
		if seen.Load() != stats.Requests || stats.Failures == 0 {
			t.Errorf("%s: the proxy saw %d requests\n%s", p.Name, seen.Load(), stats)
		}
	}
}

// LOAD-4: a request that runs when the generator is stopped is finished and counted.
func TestLOAD4StoppedGeneratorFinishes(t *testing.T) {
	arrived, answer := make(chan struct{}), make(chan struct{})
	target := proxy(t, func(c *net.TCPConn, in *bufio.Reader, _ int) {
		readRequest(in)
		close(arrived)
		<-answer
		write(c, "HTTP/1.1 200 OK\r\nX-Pod: p\r\nX-Service: s\r\nContent-Length: 0\r\n\r\n")
	})
	g, err := New(Config{Targets: []Target{target}, Routes: []Route{{Service: "s"}}, Loads: []Load{{KeepAlive, 1}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan Stats, 1)
	go func() { done <- g.Run(ctx) }()
	<-arrived
	cancel()
	close(answer)
	if s := <-done; s.Requests != 1 || s.Failures != 0 {
		t.Error(s)
	}
}

// LOAD-5: SetRoutes returns only when the request by the old route is over.
func TestLOAD5SetRoutes(t *testing.T) {
	b := &routeBook{current: newRouteSet([]Route{{Path: "/old"}})}
	old := b.take(t.Context())
	replaced := make(chan struct{})
	go func() {
		b.replace(nil)
		close(replaced)
	}()
	<-old.replaced
	select {
	case <-replaced:
		t.Fatal("replaced while a request by the old route runs")
	default:
	}
	taken := make(chan *routeSet)
	go func() { taken <- b.take(t.Context()) }() // there is no route, so it waits
	b.leave(old)
	<-replaced
	b.replace([]Route{{Path: "/new"}})
	set := <-taken
	if set.routes[0].Path != "/new" {
		t.Errorf("took %v", set.routes)
	}
	b.leave(set)
	b.replace(nil)
}

func TestHistogram(t *testing.T) {
	var h histogram
	for us := range 10_000 {
		h.add(time.Duration(us) * time.Microsecond)
	}
	for q, want := range map[float64]time.Duration{0: 0, 0.001: 10 * time.Microsecond, 0.5: 5 * time.Millisecond, 0.99: 9900 * time.Microsecond} {
		if got := h.quantile(q); got > want || float64(got) < 0.93*float64(want) {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	h.add(300 * time.Hour)
	if h.quantile(1) != 0 && h.quantile(0.99999) < time.Hour {
		t.Errorf("the longest: %v", h.quantile(0.99999))
	}
}

func TestRateIsKept(t *testing.T) {
	target := proxy(t, func(c *net.TCPConn, in *bufio.Reader, _ int) {
		for answerOnce(c, in, service) {
		}
	})
	g, err := New(Config{Targets: []Target{target}, Routes: []Route{{Service: "s"}}, Loads: []Load{{Profile{Name: "fast"}, 1}}, Rate: 100})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if s := g.Run(ctx); s.Requests < 50 || s.Requests > 101 || s.Failures > 0 {
		t.Error(s)
	}
}
