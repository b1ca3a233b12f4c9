package app

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/api/transport"
	"github.com/berth-proxy/berth/api/transport/transporttest"
)

func gauge(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no %s", name)
	return 0
}

// An agent whose files broke says so once, in its log and in a metric, and how long the certificate that it goes on using will last.
func TestABrokenCertificateIsToldOnce(t *testing.T) {
	var log bytes.Buffer
	registry := prometheus.NewRegistry()
	files := transporttest.NewAuthority(t).Files("node")
	if _, err := openCertificates(files, registry, zerolog.New(&log)); err != nil {
		t.Fatal(err)
	}
	if got := gauge(t, registry, "berth_agent_certificate_files_refused"); got != 0 {
		t.Errorf("%g files are refused at first", got)
	}
	if err := os.WriteFile(files.Key, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := gauge(t, registry, "berth_agent_certificate_files_refused"); got != 1 {
			t.Errorf("the metric says %g of a broken key", got)
		}
	}
	if left := gauge(t, registry, "berth_agent_certificate_left_seconds"); left < 3000 || left > 3600 {
		t.Errorf("%g s are left of an hour", left)
	}
	if n := strings.Count(log.String(), "those from before stay in use"); n != 1 || !strings.Contains(log.String(), files.Key) {
		t.Errorf("it was told %d times: %s", n, log.String())
	}
}

func TestWithoutCertificatesNothingIsMeasured(t *testing.T) {
	registry := prometheus.NewRegistry()
	if _, err := openCertificates(transport.Files{}, registry, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	if families, err := registry.Gather(); err != nil || len(families) != 0 {
		t.Errorf("%v, %v", families, err)
	}
}
