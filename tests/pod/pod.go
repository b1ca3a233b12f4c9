package pod

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Headers of every answer, and the paths that a pod answers for its operator. Requests to them are not counted.
const (
	HeaderPod        = "X-Pod"
	HeaderService    = "X-Service"
	HeaderBodyLength = "X-Body-Length"
	HeaderBodySum    = "X-Body-Sum"

	HealthPath   = "/-/health"
	RequestsPath = "/-/requests"
)

const (
	idleTimeout = 60 * time.Second
	maxDelay    = 30 * time.Second
	drainTime   = 30 * time.Second
)

// Config says who a pod is and where it listens.
type Config struct {
	Name    string         `json:"name"`
	Service string         `json:"service"`
	Address netip.AddrPort `json:"address"`
	// ServeOn is what SIGTERM does to a pod process: it serves on for so long; with zero it exits at once.
	ServeOn time.Duration `json:"serveOn,omitempty"`
}

// Mode says how a pod treats its clients.
type Mode string

// The ways of a pod to be alive or dead.
const (
	Alive     Mode = "alive"
	Refuse    Mode = "refuse"    // nothing listens, open connections are reset
	Reset     Mode = "reset"     // every connection is accepted and reset
	Hang      Mode = "hang"      // connections are accepted, requests are never answered
	Blackhole Mode = "blackhole" // a connection attempt times out, requests on open connections hang
)

// A Pod is one HTTP server on one address, inside this process.
type Pod struct {
	config   Config
	gate     *gate
	server   *http.Server
	served   chan struct{} // closed when the server's goroutine has ended
	requests atomic.Int64
}

// Start listens and serves. The pod answers as soon as Start returns; it ends by Terminate or Kill.
func Start(config Config) (*Pod, error) {
	g, err := newGate(config.Address)
	if err != nil {
		return nil, fmt.Errorf("start pod %s: %w", config.Name, err)
	}
	p := &Pod{config: config, gate: g, served: make(chan struct{})}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	p.server = &http.Server{
		Handler:           http.HandlerFunc(p.serve),
		IdleTimeout:       idleTimeout,
		ReadHeaderTimeout: idleTimeout,
		Protocols:         protocols,
	}
	go func() {
		defer close(p.served)
		_ = p.server.Serve(g) // always ErrServerClosed: the gate ends only by Terminate and Kill
	}()
	return p, nil
}

// Config returns what the pod was started with.
func (p *Pod) Config() Config { return p.config }

// Requests counts the requests that reached the pod, those to its operator's paths left out.
func (p *Pod) Requests() (int64, error) { return p.requests.Load(), nil }

// SetMode makes the pod dead in one of several ways, or alive again.
func (p *Pod) SetMode(m Mode) error {
	if err := p.gate.setMode(m); err != nil {
		return fmt.Errorf("turn pod %s to %s: %w", p.config.Name, m, err)
	}
	return nil
}

// Terminate serves on for a while, then closes gracefully and returns when the pod is gone. When ctx ends first the
// pod is killed.
func (p *Pod) Terminate(ctx context.Context, serveOn time.Duration) error {
	timer := time.NewTimer(serveOn)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return errors.Join(ctx.Err(), p.Kill())
	case <-timer.C:
	}
	grace, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	if err := p.server.Shutdown(grace); err != nil {
		return errors.Join(fmt.Errorf("end pod %s gracefully: %w", p.config.Name, err), p.Kill())
	}
	<-p.served
	return nil
}

// Kill is what exit at SIGTERM looks like from outside: the listener is gone and every connection is reset.
func (p *Pod) Kill() error {
	p.gate.reset()
	err := p.server.Close()
	<-p.served
	return err
}

func (p *Pod) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(HeaderPod, p.config.Name)
	w.Header().Set(HeaderService, p.config.Service)
	switch r.URL.Path {
	case HealthPath:
		p.hold(r)
		_, _ = io.WriteString(w, "ok\n")
		return
	case RequestsPath:
		_, _ = fmt.Fprintln(w, p.requests.Load())
		return
	}
	p.requests.Add(1)
	sum := crc32.NewIEEE()
	n, err := io.Copy(sum, r.Body)
	if err != nil {
		http.Error(w, "the request's body did not arrive: "+err.Error(), http.StatusBadRequest)
		return
	}
	p.hold(r)
	if !delay(r) {
		return // the client is gone
	}
	if n > 0 {
		w.Header().Set(HeaderBodyLength, strconv.FormatInt(n, 10))
		w.Header().Set(HeaderBodySum, fmt.Sprintf("%08x", sum.Sum32()))
	}
	_, _ = fmt.Fprintf(w, "%s of %s\n", p.config.Name, p.config.Service)
}

// hold keeps a request for as long as the pod hangs. When that ends with the pod or the client, there is no answer,
// not an empty one.
func (p *Pod) hold(r *http.Request) {
	if !p.gate.wait(r.Context()) {
		panic(http.ErrAbortHandler)
	}
}

// delay takes its time on a path that ends in /slow?d=DURATION, and tells whether the client is still there after it.
func delay(r *http.Request) bool {
	if !strings.HasSuffix(r.URL.Path, "/slow") {
		return true
	}
	d, err := time.ParseDuration(r.URL.Query().Get("d"))
	if err != nil || d <= 0 {
		return true
	}
	timer := time.NewTimer(min(d, maxDelay))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
