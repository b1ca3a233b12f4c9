package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/api/transport"
	"github.com/berth-proxy/berth/api/transport/transporttest"
)

// What is measured leaves the machine over mutual TLS only, as with the plane.
func TestMetricsFromElsewhereAreSecure(t *testing.T) {
	authority := transporttest.NewAuthority(t)
	cfg := Config{MetricsAddress: fmt.Sprintf("0.0.0.0:%d", freePort(t)), TLS: authority.Files("node")}
	certificates, err := openCertificates(cfg.TLS, prometheus.NewRegistry(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	secure, err := cfg.metricsTLS(certificates)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- serveMetrics(ctx, cfg.MetricsAddress, secure, prometheus.NewRegistry()) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	ca, err := os.ReadFile(authority.CA())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	pair, err := tls.LoadX509KeyPair(cfg.TLS.Cert, cfg.TLS.Key)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(scheme string, certificates ...tls.Certificate) error {
		client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
			DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, Certificates: certificates, ServerName: "127.0.0.1"},
		}}
		response, err := client.Get(scheme + "://127.0.0.1" + cfg.MetricsAddress[len("0.0.0.0"):] + "/metrics")
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", response.StatusCode)
		}
		return nil
	}
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(10 * time.Millisecond) {
		if err = ask("https", pair); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if ask("https") == nil || ask("http") == nil {
		t.Error("who has no certificate is answered")
	}
	if secure, err := (&Config{MetricsAddress: "127.0.0.1:1", TLS: cfg.TLS}).metricsTLS(&transport.Current{}); err != nil || secure != nil {
		t.Errorf("on loopback: %v, %v", secure, err)
	}
}
