// Command berth-agent runs beside one HAProxy: it takes the wanted state from a control plane and brings HAProxy to it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/berth-proxy/berth/api/flagenv"
	"github.com/berth-proxy/berth/dataplane-agent/internal/app"
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
		fmt.Fprintln(os.Stderr, "berth-agent:", err)
		os.Exit(exitCode(err))
	}
}

// failure is an error of an agent that was used rightly.
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
	hostname, _ := os.Hostname() // without one, --node has to be given
	c := &cobra.Command{
		Use:   "berth-agent",
		Short: "Keeps one HAProxy at what the control plane wants of it",
		Long: "berth-agent runs HAProxy, or attaches to one that runs, and applies what the control plane sends: endpoint changes at once through the runtime\n" +
			"socket, and by a reload what a running HAProxy cannot take. HAProxy goes on when the agent ends, and an agent that starts takes it over.\n" +
			"Each flag can be given as the environment variable in brackets; the flag wins.",
		Version:       version,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flagenv.Apply(cmd.Flags(), os.LookupEnv); err != nil {
				return err //nolint:wrapcheck // It names the variable.
			}
			level, err := zerolog.ParseLevel(cfg.LogLevel)
			if err != nil || level < zerolog.DebugLevel || level > zerolog.ErrorLevel {
				return fmt.Errorf("--log-level %q: give debug, info, warn or error", cfg.LogLevel)
			}
			if err := cfg.Validate(); err != nil {
				return err //nolint:wrapcheck // It names the flags.
			}
			if err := app.Run(cmd.Context(), cfg, zerolog.New(os.Stderr).Level(level).With().Timestamp().Logger()); err != nil {
				return failure{err}
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringSliceVar(&cfg.Planes, "plane", nil, "control plane to connect to, HOST:PORT; repeatable; without one HAProxy runs from the state directory")
	f.StringVar(&cfg.Fleet, "fleet", "default", "fleet that this node belongs to")
	f.StringVar(&cfg.Node, "node", hostname, "name of this node, unique in its fleet")
	f.StringVar(&cfg.StateDir, "state-dir", "/var/lib/berth", "folder for the configuration, sockets, certificates and the journal")
	f.StringVar(&cfg.HAProxy, "haproxy", "haproxy", "HAProxy to run, a path or a name in PATH")
	f.StringVar(&cfg.MasterSocket, "haproxy-master-socket", "", "master socket of a HAProxy that something else runs from the state directory; the agent attaches to it and never starts one")
	f.IntVar(&cfg.HTTPPort, "http-port", 8080, "port for HTTP, 0 for none")
	f.IntVar(&cfg.HTTPSPort, "https-port", 8443, "port for HTTPS, 0 for none")
	f.StringVar(&cfg.BindAddress, "bind-address", "all", "IP address that HAProxy listens on, or all")
	f.BoolVar(&cfg.AddServers, "add-servers", true, "add servers to the running worker when a slot table outgrows it, where HAProxy can; false reloads instead")
	f.DurationVar(&cfg.VerifyEvery, "verify-every", 30*time.Second, "how often everything is read back from HAProxy's worker, to repair what somebody else has changed in it or in its files")
	f.StringVar(&cfg.MetricsAddress, "metrics-address", "", "HOST:PORT for /metrics and /healthz; none if empty; anywhere but on loopback it needs --tls-cert, --tls-key and --tls-ca")
	f.StringVar(&cfg.TLS.Cert, "tls-cert", "", "this agent's certificate (PEM), for planes that are not on a loopback address")
	f.StringVar(&cfg.TLS.Key, "tls-key", "", "key of --tls-cert (PEM)")
	f.StringVar(&cfg.TLS.CA, "tls-ca", "", "CA that the plane's certificate is checked against (PEM)")
	f.StringVar(&cfg.LogLevel, "log-level", "info", "debug, info, warn or error")
	flagenv.Describe(f)
	return c
}
