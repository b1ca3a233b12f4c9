// Package app wires the agent by hand, top to bottom: it is the story of the process.
package app

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/berth-proxy/berth/api/transport"
	"github.com/berth-proxy/berth/dataplane-agent/internal/certs"
	"github.com/berth-proxy/berth/dataplane-agent/internal/disk"
	"github.com/berth-proxy/berth/dataplane-agent/internal/journal"
	"github.com/berth-proxy/berth/dataplane-agent/internal/node"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plane"
	"github.com/berth-proxy/berth/dataplane-agent/internal/report"
)

// Run runs an agent until ctx ends. HAProxy goes on after it.
func Run(ctx context.Context, cfg Config, log zerolog.Logger) error {
	registry := prometheus.NewRegistry()
	certificates, err := openCertificates(cfg.TLS, registry, log)
	if err != nil {
		return err
	}
	credentials, err := certificates.Client(cfg.Planes...)
	if err != nil {
		return err //nolint:wrapcheck // It says which address and what to give.
	}
	metricsTLS, err := cfg.metricsTLS(certificates)
	if err != nil {
		return err
	}
	if err := disk.MakeDir(cfg.StateDir); err != nil {
		return err
	}
	lock, err := disk.NewLock(filepath.Join(cfg.StateDir, "agent.lock"))
	if err != nil {
		return fmt.Errorf("state directory %s: %w; one agent uses a state directory at a time", cfg.StateDir, err)
	}
	defer lock.Release()
	if err := disk.Sweep(cfg.StateDir); err != nil {
		log.Warn().Err(err).Msg("what an earlier agent has left unfinished stays on the disk")
	}
	folder, err := certs.Open(cfg.StateDir)
	if err != nil {
		return err
	}
	log.Info().Str("fleet", cfg.Fleet).Str("node", cfg.Node).Str("state_dir", cfg.StateDir).Str("version", cfg.Version).Msg("agent starts")
	j, held, err := journal.Open(filepath.Join(cfg.StateDir, "journal"), cfg.Fleet)
	if err != nil {
		return err
	}
	if err := j.Problem(); err != nil {
		log.Warn().Err(err).Msg("a part of the journal cannot be relied on; the node starts from what came before it")
	}
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	box := report.New()
	n := node.New(cfg.node(), node.Parts{Log: log, Box: box, Metrics: node.NewMetrics(registry), Journal: j, Held: held, Certs: folder, Lock: lock})

	// The journal ends last, so that it still writes what the node has taken.
	journalCtx, endJournal := context.WithCancel(context.WithoutCancel(ctx))
	journalDone := make(chan error, 1)
	go func() { journalDone <- j.Run(journalCtx) }()
	defer func() {
		endJournal()
		if err := <-journalDone; err != nil {
			log.Error().Err(err).Msg("the journal has ended with an error")
		}
	}()

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return n.Run(ctx) })
	group.Go(func() error { return certificates.Run(ctx) })
	if len(cfg.Planes) > 0 {
		client := plane.New(plane.Config{
			Addresses: cfg.Planes, Credentials: credentials, Fleet: cfg.Fleet, Name: cfg.Node, BootID: rand.Text(), Version: cfg.Version,
		}, n, box, log)
		group.Go(func() error { return client.Run(ctx) })
	}
	if cfg.MetricsAddress != "" {
		group.Go(func() error { return serveMetrics(ctx, cfg.MetricsAddress, metricsTLS, registry) })
	}
	return group.Wait() //nolint:wrapcheck // Each says what it was doing.
}

// metricsTLS is what the metrics are served with: nothing on a loopback address, where Prometheus may have no certificate.
func (c *Config) metricsTLS(certificates *transport.Current) (*tls.Config, error) {
	if c.MetricsAddress == "" || transport.Loopback(c.MetricsAddress) {
		return nil, nil //nolint:nilnil // No configuration stands for plain text.
	}
	secure, err := certificates.ServerConfig(c.MetricsAddress)
	if err != nil {
		return nil, fmt.Errorf("--metrics-address: %w", err)
	}
	return secure, nil
}

func serveMetrics(ctx context.Context, address string, secure *tls.Config, registry *prometheus.Registry) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("serve metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, TLSConfig: secure}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if secure != nil {
		err = server.ServeTLS(l, "", "")
	} else {
		err = server.Serve(l)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics on %s: %w", address, err)
	}
	return nil
}
