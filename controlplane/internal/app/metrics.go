package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
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
	if transport.Loopback(p.config.MetricsAddress) {
		err = server.Serve(p.metricsPlace)
	} else {
		err = serveTLS(server, p)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics on %s: %w", p.config.MetricsAddress, err)
	}
	return nil
}

func serveTLS(server *http.Server, p *Plane) error {
	text, err := os.ReadFile(p.config.TLS.CA)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	return server.ServeTLS(p.metricsPlace, p.config.TLS.Cert, p.config.TLS.Key)
}
