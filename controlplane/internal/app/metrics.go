package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/berth-proxy/berth/api/transport"
)

// serveMetrics serves /metrics and /healthz: in plain text on a loopback address, else with the plane's certificates like everything else.
func (p *Plane) serveMetrics(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	var err error
	if server.TLSConfig = p.metricsTLS; server.TLSConfig == nil {
		err = server.Serve(p.metricsPlace)
	} else {
		err = server.ServeTLS(p.metricsPlace, "", "")
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics on %s: %w", p.config.MetricsAddress, err)
	}
	return nil
}

// secureMetrics reads the certificates for the metrics' listener: none on a loopback address, where Prometheus may have none.
func (p *Plane) secureMetrics() (err error) {
	if a := p.config.MetricsAddress; a != "" && !transport.Loopback(a) {
		if p.metricsTLS, err = p.certificates.ServerConfig(a); err != nil {
			return fmt.Errorf("--metrics-address: %w", err)
		}
	}
	return nil
}
