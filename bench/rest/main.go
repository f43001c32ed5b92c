// Command rest shows what presence costs while little happens: many signed-in users on few
// nodes and one Redis, at rest, with changes, and when a node dies. See the README of bench for
// what is measured.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rollcall-go/rollcall/bench/internal/child"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := play(ctx, child.Role(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "rest:", err)
		os.Exit(1)
	}
}

// play is what a process of this program does: the parent leads, and its children are nodes and
// crowds.
func play(ctx context.Context, role string, args []string, w io.Writer) error {
	moreFiles()
	switch role {
	case "node":
		return child.Serve("Rest", new(Node))
	case "crowd":
		return child.Serve("Rest", new(Crowd))
	}
	flags := flag.NewFlagSet("rest", flag.ExitOnError)
	only := flags.String("only", "users,sockets,streams", "parts, comma-separated")
	before := flags.String("before", "", "a checkout of an older version, which is measured in the same run")
	quick := flags.Bool("quick", false, "few users, briefly")
	users := flags.Int("users", 100_000, "users with connections in memory, on five nodes")
	sockets := flags.Int("sockets", 18_000, "users with real sockets, on two nodes")
	streams := flags.Int("streams", 10_000, "streams at the forum")
	rest := flags.Duration("rest", time.Minute, "how long nothing happens")
	changes := flags.Duration("changes", 30*time.Second, "how long users come and go")
	restOnly := flags.Bool("rest-only", false, "leave out what follows the minute at rest")
	figures := flags.String("json", "", "a file for all figures")
	flags.Parse(args)
	s := size{Users: *users, Nodes: 5, PerThread: 100, Rest: *rest, Rate: 670, Changes: *changes, Back: 10 * time.Second, Patience: time.Minute, RestOnly: *restOnly}
	if *quick {
		s.Users, *sockets, *streams, s.Rest, s.Changes, s.Rate = 2000, 500, 200, 5*time.Second, 5*time.Second, 100
	}
	builds, clean, err := makeBuilds(ctx, *before)
	defer clean()
	if err != nil {
		return err
	}
	var r results
	parts := strings.Split(*only, ",")
	for _, b := range builds {
		if err := r.measure(ctx, b, s, parts, *sockets, *streams); err != nil {
			r.print(w)
			return err
		}
	}
	r.print(w)
	if *figures == "" {
		return nil
	}
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(*figures, append(b, '\n'), 0o644)
}

// results are what a run found.
type results struct {
	Users, Sockets []phase
	Streams        []minute
}

func (r *results) measure(ctx context.Context, b build, s size, parts []string, sockets, streams int) error {
	if slices.Contains(parts, "users") {
		all, err := run(ctx, b, s)
		r.Users = append(r.Users, all...)
		if err != nil {
			return err
		}
	}
	if slices.Contains(parts, "sockets") {
		s.Users, s.Nodes, s.Sockets = sockets, 2, true
		all, err := run(ctx, b, s)
		r.Sockets = append(r.Sockets, all...)
		if err != nil {
			return err
		}
	}
	if slices.Contains(parts, "streams") {
		all, err := minutes(ctx, b, streams, s.Rest)
		r.Streams = append(r.Streams, all...)
		if err != nil {
			return err
		}
	}
	return nil
}

// moreFiles lets this process and its children have a file for each socket, as far as the system
// allows it.
func moreFiles() {
	var had unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &had) != nil {
		return
	}
	const wanted = 64 << 10
	if had.Max < wanted {
		had.Max = wanted
	}
	had.Cur = had.Max
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &had) // only root may raise it
}
