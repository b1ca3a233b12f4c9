// Command berthctl shows and explains what a control plane does, and works on directories of Kubernetes YAML without one.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/berth-proxy/berth/controlplane/internal/ctl"
)

// version is set by the linker.
var version = "development"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := ctl.Run(ctx, ctl.Invocation{Args: os.Args[1:], Out: os.Stdout, Err: os.Stderr, LookupEnv: os.LookupEnv, Version: version})
	stop()
	os.Exit(code)
}
