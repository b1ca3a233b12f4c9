// Command pod stands for a pod in the documentation's examples: an HTTP server that says its name. Like a well-behaved pod
// it goes on serving for a while after it was asked to end. It needs nothing but Go:
//
//	go run docs/examples/pod/main.go -listen 127.0.9.1:9080 -name web-1
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.9.1:9080", "address to listen on")
	name := flag.String("name", "pod", "what it answers")
	serveOn := flag.Duration("serve-on", 6*time.Second, "how long it serves on after SIGTERM: HAProxy's keep-alive time and a second")
	flag.Parse()
	if err := run(*listen, *name, *serveOn); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(listen, name string, serveOn time.Duration) error {
	server := &http.Server{
		Addr:              listen,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       60 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%s answers %s\n", name, r.URL.Path)
		}),
	}
	asked, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		<-asked.Done()
		<-time.After(serveOn)
		ended <- server.Shutdown(context.Background())
	}()
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		return fmt.Errorf("listen on %s as pod %s: %w", listen, name, err)
	}
	return <-ended
}
