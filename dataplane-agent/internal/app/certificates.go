package app

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/api/transport"
)

// openCertificates reads the agent's certificates and measures how long its own is still valid.
func openCertificates(files transport.Files, registry prometheus.Registerer, log zerolog.Logger) (*transport.Current, error) {
	log = log.With().Str("cert", files.Cert).Str("key", files.Key).Str("ca", files.CA).Logger()
	c, err := transport.Open(files, func(err error) {
		if err != nil {
			log.Error().Err(err).Msg("the agent's certificates cannot be used as they are; those from before stay in use")
			return
		}
		log.Info().Msg("the agent's certificates were read anew")
	})
	if err != nil {
		return nil, fmt.Errorf("open the agent's certificates: %w", err)
	}
	if !c.Given() {
		return c, nil
	}
	registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "berth_agent_certificate_left_seconds", Help: "For how long the agent's own certificate is still valid; below zero it has expired.",
		}, func() float64 { return c.Left().Seconds() }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "berth_agent_certificate_files_refused", Help: "1 while the agent's certificate files cannot be used, so that those from before are.",
		}, func() float64 {
			if c.Problem() != nil {
				return 1
			}
			return 0
		}),
	)
	return c, nil
}
