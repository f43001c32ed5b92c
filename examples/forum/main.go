// Forum is a small, classic, server-rendered forum that shows who is online,
// live. It needs no service and no configuration:
//
//	go run ./examples/forum
//
// Sign in with any name, open the same page in a second browser, and watch.
// The wiring that a site of your own needs is in site.go.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
)

// stopTime is how long requests may take to end once the forum is told to stop.
const stopTime = 5 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills the process
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run is main, with its arguments, environment and output as parameters. It returns the exit code.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	config, err := parseConfig(args, getenv)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage())
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "forum: %v (forum -help lists the flags)\n", err)
		return 2
	}
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	if err := serve(ctx, config, stdout, logger); err != nil {
		logger.Error("the forum had to stop", "err", err)
		return 1
	}
	return 0
}

// serve runs the forum until ctx ends.
func serve(ctx context.Context, config config, stdout io.Writer, logger *slog.Logger) error {
	listener, err := net.Listen("tcp", config.addr)
	if err != nil {
		return err
	}
	config.base = "http://" + reachable(config.addr, listener.Addr())
	site, err := newSite(config, logger)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := newServer(site, logger)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	fmt.Fprintf(stdout, "listening on %s\n", config.base)

	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	// The tracker ends the streams first, because Shutdown would wait for them.
	written := site.drain(bound)
	if err := server.Shutdown(bound); err != nil {
		logger.Warn("some requests were cut", "err", errors.Join(err, server.Close()))
	}
	if written = errors.Join(written, site.release()); written != nil {
		logger.Warn("not everything was written to the store", "err", written)
	}
	return err
}

// maxHeader is the largest size of a request's first line and header together. Each open stream keeps them.
const maxHeader = 32 << 10

// newServer returns the server of a site. A client that sends its request slowly or incompletely holds a
// connection for ten seconds at most, and one that reads its page slowly for half a minute. Neither ends streams: ReadTimeout
// covers only reading the request, and the handler lifts WriteTimeout.
func newServer(site http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           site,
		ConnContext:       handlers.ConnContext,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
}

// reachable returns the host and port to open in a browser. That is the host that was asked for; an address
// such as ":8080" means all hosts, so localhost is returned. The port is the one that the listener got.
func reachable(asked string, got net.Addr) string {
	host, _, _ := net.SplitHostPort(asked)
	_, port, _ := net.SplitHostPort(got.String())
	return net.JoinHostPort(cmp.Or(host, "localhost"), port)
}
