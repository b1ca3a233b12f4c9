package loadgen

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/berth-proxy/berth/tests/pod"
)

const maxBody = 4096

// A client sends one request after another. The clients of an HTTP/2 profile share a line, each being a stream of it.
type client struct {
	target    Target
	profile   Profile
	line      *line
	generator *Generator
	random    *rand.Rand
}

func (c *client) run(ctx context.Context) {
	defer c.line.drop()
	for gap := time.Duration(0); ; gap = c.profile.MinGap { // the first request need not wait
		if spread := c.profile.MaxGap - c.profile.MinGap; spread > 0 {
			gap += time.Duration(c.random.Int64N(int64(spread)))
		}
		if !sleep(ctx, gap) || !c.generator.pace.wait(ctx) {
			return
		}
		routes := c.generator.routes.take(ctx)
		if routes == nil {
			return
		}
		o := c.once(routes.routes)
		c.generator.recorder.add(o)
		if o.Kind != "" && c.generator.config.Failed != nil {
			c.generator.config.Failed(o.Failure)
		}
		c.generator.routes.leave(routes)
	}
}

// once sends one request and judges it. It is not ended by the generator's context (LOAD-4), but by its own deadline.
func (c *client) once(routes []Route) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), c.generator.config.Timeout)
	defer cancel()
	start := time.Now()
	route, used, err := c.line.acquire(ctx, routes, c.random)
	o := outcome{Failure: Failure{Time: start, Profile: c.profile.Name, Target: c.target.Name}}
	req, sum := c.request(route)
	o.Request = req.Method + " " + req.URL.String()
	if err != nil {
		o.Kind, o.What = Connect, err.Error()
		if errors.Is(err, errUnsolicited) {
			o.Kind = Unsolicited
		}
		return o
	}
	o.LocalPort, o.Reused, o.Age = used.held.link.localPort(), used.before, max(0, start.Sub(used.held.opened))
	got, err := used.held.link.exchange(ctx, req)
	o.took = time.Since(start)
	c.line.release(used.held, err == nil && !got.last && !c.profile.NewConnection)
	if errors.Is(err, errUnsent) && used.before > 0 {
		c.generator.recorder.reopened()
		return c.once(routes) // on another connection; a fresh one never comes here
	}
	if err != nil {
		o.Kind, o.What = kindOf(err, used.before > 0), err.Error()
		return o
	}
	o.Status, o.Pod = got.status, got.header.Get(pod.HeaderPod)
	o.Kind, o.What = judge(route, got, sum)
	return o
}

// request makes a request and the checksum of its body; an empty one for no body.
func (c *client) request(r Route) (*http.Request, string) {
	u := &url.URL{Scheme: "http", Host: r.Host, Path: orElse(r.Path, "/")}
	if c.target.TLS {
		u.Scheme = "https"
	}
	if u.Host == "" {
		u.Host = c.target.Address
	}
	if c.profile.Slow > 0 {
		u.Path = strings.TrimSuffix(u.Path, "/") + "/slow"
		u.RawQuery = "d=" + c.profile.Slow.String()
	}
	req := &http.Request{Method: orElse(c.profile.Method, http.MethodGet), URL: u, Host: u.Host, Header: http.Header{"User-Agent": {"berth-loadgen"}}}
	if req.Method != http.MethodPost {
		return req, ""
	}
	body := make([]byte, 1+c.random.IntN(maxBody))
	for i := range body {
		body[i] = byte(c.random.Uint32())
	}
	// Only a reader, and no GetBody: nobody could send it again. Every other body is chunked.
	req.Body = io.NopCloser(strings.NewReader(string(body)))
	req.ContentLength = int64(len(body))
	if c.random.IntN(2) == 0 {
		req.ContentLength = -1
	}
	return req, fmt.Sprintf("%08x", crc32.ChecksumIEEE(body))
}

func judge(r Route, got answer, sum string) (Kind, string) {
	name, service := got.header.Get(pod.HeaderPod), got.header.Get(pod.HeaderService)
	switch want := orElse(r.Status, http.StatusOK); {
	case got.status != want:
		return Status, fmt.Sprintf("status %d, want %d, from pod %q of %q", got.status, want, name, service)
	case service != r.Service || (name == "") != (r.Service == ""):
		return Stranger, fmt.Sprintf("answered by pod %q of %q, want %q", name, service, r.Service)
	case r.Service != "" && got.header.Get(pod.HeaderBodySum) != sum:
		return Body, fmt.Sprintf("pod %q saw a body with checksum %q, sent was %q", name, got.header.Get(pod.HeaderBodySum), sum)
	}
	return "", ""
}

func kindOf(err error, reused bool) Kind {
	var ne net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &ne) && ne.Timeout():
		return Timeout
	case errors.Is(err, errRace) && reused:
		return Race
	}
	return Cut
}

func orElse[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
