package app

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"github.com/berth-proxy/berth/api/transport"
	"github.com/berth-proxy/berth/controlplane/internal/identity"
)

// openCertificates reads the plane's certificates and measures how long its own is still valid.
func (p *Plane) openCertificates() (err error) {
	log := p.log.With().Str("cert", p.config.TLS.Cert).Str("key", p.config.TLS.Key).Str("ca", p.config.TLS.CA).Logger()
	p.certificates, err = transport.Open(p.config.TLS, func(err error) {
		if err != nil {
			log.Error().Err(err).Msg("the plane's certificates cannot be used as they are; those from before stay in use")
			return
		}
		log.Info().Msg("the plane's certificates were read anew")
	})
	if err != nil {
		return fmt.Errorf("open the plane's certificates: %w", err)
	}
	if !p.certificates.Given() {
		return nil
	}
	p.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "berth_certificate_left_seconds", Help: "For how long the plane's own certificate is still valid; below zero it has expired.",
		}, func() float64 { return p.certificates.Left().Seconds() }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "berth_certificate_files_refused", Help: "1 while the plane's certificate files cannot be used, so that those from before are.",
		}, func() float64 {
			if p.certificates.Problem() != nil {
				return 1
			}
			return 0
		}),
	)
	return nil
}

// people are the options of the admin server that keep nodes out. A node that tries again and again is some lines in the log, not all of it.
func (p *Plane) people() []grpc.ServerOption {
	log := p.log.Sample(&zerolog.BurstSampler{Burst: 5, Period: time.Minute})
	return identity.People(func(ctx context.Context, err error) {
		address := ""
		if from, ok := peer.FromContext(ctx); ok && from.Addr != nil {
			address = from.Addr.String()
		}
		log.Warn().Str("address", address).AnErr("reason", err).Msg("a call on the admin address is refused")
	})
}
