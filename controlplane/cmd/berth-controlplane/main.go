// Command berth-controlplane reads Kubernetes objects and keeps fleets of HAProxy at what they say.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/berth-proxy/berth/api/flagenv"
	"github.com/berth-proxy/berth/controlplane/internal/app"
)

// version is set by the linker.
var version = "development"

// The exit codes: it could not be done, or it was used wrongly.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "berth-controlplane:", err)
		os.Exit(exitCode(err))
	}
}

// failure is an error of a plane that was used rightly.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

func exitCode(err error) int {
	if errors.As(err, &failure{}) {
		return exitFailed
	}
	return exitUsage
}

func command() *cobra.Command {
	cfg := app.Config{Version: version}
	c := &cobra.Command{
		Use:   "berth-controlplane",
		Short: "Keeps fleets of HAProxy at what Kubernetes objects say",
		Long: "berth-controlplane reads Kubernetes objects from its sources, and serves the agents beside each HAProxy of its fleets (--node-address) and people\n" +
			"(--admin-address, berthctl). It writes nothing: it can be started anew at any time, and traffic goes on without it.\n" +
			"Each flag can be given as the environment variable in brackets; the flag wins.\n" +
			"Plain text is for loopback addresses only. On any other address --tls-cert, --tls-key and --tls-ca make it mutual TLS 1.3.",
		Example:       "  berth-controlplane --source dir:/etc/berth/objects\n  berth-controlplane --source east=dir:/srv/east --source west=dir:/srv/west",
		Version:       version,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flagenv.Apply(cmd.Flags(), os.LookupEnv); err != nil {
				return err //nolint:wrapcheck // It names the variable.
			}
			if err := cfg.Validate(); err != nil {
				return err //nolint:wrapcheck // It names the flags.
			}
			return run(cmd.Context(), cfg, zerolog.New(os.Stderr).Level(cfg.Level()).With().Timestamp().Logger())
		},
	}
	f := c.Flags()
	f.StringSliceVar(&cfg.Sources, "source", nil,
		"where to read objects, [NAME=]dir:PATH; repeatable; NAME is the cluster in every object's key and defaults to the folder's name; the backends of the first source have no prefix")
	f.StringVar(&cfg.NodeAddress, "node-address", "127.0.0.1:7800", "HOST:PORT for agents")
	f.StringVar(&cfg.AdminAddress, "admin-address", "127.0.0.1:7801", "HOST:PORT for berthctl and grpcurl")
	f.StringVar(&cfg.MetricsAddress, "metrics-address", "127.0.0.1:7802", "HOST:PORT for /metrics and /healthz; none if empty")
	f.StringVar(&cfg.TLS.Cert, "tls-cert", "", "the plane's certificate (PEM), for addresses that are not loopback")
	f.StringVar(&cfg.TLS.Key, "tls-key", "", "key of --tls-cert (PEM)")
	f.StringVar(&cfg.TLS.CA, "tls-ca", "", "CA that the certificates of agents and people are checked against (PEM)")
	f.StringVar(&cfg.LogLevel, "log-level", "info", "debug, info, warn or error")
	flagenv.Describe(f)
	return c
}

func run(ctx context.Context, cfg app.Config, log zerolog.Logger) error {
	plane, err := app.New(ctx, cfg, log)
	if err != nil {
		return failure{err}
	}
	if err := plane.Run(ctx); err != nil {
		return failure{err}
	}
	return nil
}
