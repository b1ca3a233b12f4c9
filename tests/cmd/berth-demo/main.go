// Command berth-demo plays Berth on this machine: a control plane, two fleets of two HAProxies, pods, load, rolling restarts and route changes. It ends with a verdict, and with a code
// other than 0 if a single request failed. It expects the product's commands beside itself.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/berth-proxy/berth/tests/demo"
	"github.com/berth-proxy/berth/tests/harness"
)

func main() {
	harness.Reexec()
	keep := flag.Bool("keep", false, "stay up after the verdict until Ctrl-C, and print commands to try")
	flag.Parse()
	os.Exit(run(*keep))
}

func run(keep bool) int {
	if err := findBinaries(); err != nil {
		fmt.Fprintln(os.Stderr, "berth-demo:", err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	info, err := os.Stdout.Stat()
	live := err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	if err := demo.Run(ctx, demo.Options{Out: os.Stdout, Live: live, Keep: keep}); err != nil {
		fmt.Fprintln(os.Stderr, "berth-demo:", err)
		return 1
	}
	return 0
}

// findBinaries has the harness use the commands that stand beside this one.
func findBinaries() error {
	if os.Getenv("BERTH_BIN") != "" {
		return nil
	}
	self, err := os.Executable()
	if err == nil {
		err = os.Setenv("BERTH_BIN", filepath.Dir(self))
	}
	if err != nil {
		return fmt.Errorf("find the product's commands beside this one: %w", err)
	}
	return nil
}
