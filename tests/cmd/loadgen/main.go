// Command loadgen sends requests through proxies, never retries one, and exits with 1 if a single one failed.
//
//	loadgen -target 127.0.0.1:8080 -target https://127.0.0.1:8443 -route shop.example.com/=shop/web -for 10s
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/berth-proxy/berth/tests/loadgen"
)

func main() {
	config, length, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(2)
	}
	if !run(config, length) {
		os.Exit(1)
	}
}

func run(config loadgen.Config, length time.Duration) bool {
	g, err := loadgen.New(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		return false
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, length)
		defer cancel()
	}
	stats := g.Run(ctx)
	fmt.Print(stats)
	return stats.Failures == 0 && stats.Requests > 0
}

func parse(args []string) (loadgen.Config, time.Duration, error) {
	var c loadgen.Config
	flags := flag.NewFlagSet("loadgen", flag.ContinueOnError)
	flags.Func("target", "`[https://]HOST:PORT` of a proxy (repeatable)", func(s string) error {
		address, tls := strings.CutPrefix(s, "https://")
		c.Targets = append(c.Targets, loadgen.Target{Name: s, Address: address, TLS: tls})
		return nil
	})
	flags.Func("route", "`HOST/PATH=SERVICE`: a request and the X-Service of its answer (repeatable)", func(s string) error {
		where, service, ok := strings.Cut(s, "=")
		host, path, slash := strings.Cut(where, "/")
		if !ok || !slash {
			return errors.New("want HOST/PATH=SERVICE")
		}
		c.Routes = append(c.Routes, loadgen.Route{Host: host, Path: "/" + path, Service: service})
		return nil
	})
	clients := flags.Int("clients", 2, "connections of each busy profile at each target; idle ones are eight times as many")
	only := flags.String("profile", "", "only this profile")
	length := flags.Duration("for", 0, "how long; without it until Ctrl-C")
	flags.Float64Var(&c.Rate, "rate", 0, "requests a second at most, over all targets")
	flags.Uint64Var(&c.Seed, "seed", 0, "the seed that an earlier run printed")
	flags.DurationVar(&c.Timeout, "timeout", 0, "time for one request (default 10s)")
	if err := flags.Parse(args); err != nil {
		return c, 0, err
	}
	for _, l := range loadgen.Mix(max(1, *clients)) {
		if *only == "" || *only == l.Name {
			c.Loads = append(c.Loads, l)
		}
	}
	if len(c.Routes) == 0 {
		return c, 0, errors.New("no -route")
	}
	return c, *length, nil
}
