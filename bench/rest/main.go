// Command rest shows what presence costs while little happens: many signed-in users on few
// nodes and one Redis, at rest, with changes, and when a node dies. README.md says what
// is measured.
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
	only := flags.String("only", "rows,users,sockets,streams,model", "parts, comma-separated")
	quick := flags.Bool("quick", false, "few users, briefly")
	users := flags.Int("users", 100_000, "users with connections in memory, on five nodes")
	sockets := flags.Int("sockets", 18_000, "users with real sockets, on two nodes")
	streams := flags.Int("streams", 10_000, "streams at the forum")
	rest := flags.Duration("rest", time.Minute, "how long nothing happens")
	changes := flags.Duration("changes", 30*time.Second, "how long users come and go")
	perThread := flags.Int("thread", 100, "users of a thread, who are spread over the nodes")
	restOnly := flags.Bool("rest-only", false, "leave out what follows the minute at rest")
	figures := flags.String("json", "", "a file for all figures")
	from := flags.String("from", "", "show the figures of a file again, without measuring; comma-separated: of several runs")
	flags.Parse(args)
	var r results
	if *from != "" {
		if err := r.read(strings.Split(*from, ",")...); err != nil {
			return err
		}
		r.print(w)
		return nil
	}
	s := size{Users: *users, Nodes: 5, PerThread: *perThread, Rest: *rest, Rate: 670, Changes: *changes, Back: 10 * time.Second, Patience: time.Minute, RestOnly: *restOnly}
	if *quick {
		s.Users, *sockets, *streams, s.Rest, s.Changes, s.Rate = 2000, 500, 200, 5*time.Second, 5*time.Second, 100
	}
	err := r.measure(ctx, s, strings.Split(*only, ","), *sockets, *streams)
	r.print(w)
	if *figures == "" || err != nil {
		return err
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
	Model          []phase // of the small fleets to which the model is fitted
	Streams        []minute
	Rows           []row
}

func (r *results) measure(ctx context.Context, s size, parts []string, sockets, streams int) error {
	if slices.Contains(parts, "rows") {
		all, err := rows(ctx, min(s.Rest, 30*time.Second))
		r.Rows = append(r.Rows, all...)
		if err != nil {
			return err
		}
	}
	if slices.Contains(parts, "users") {
		all, err := run(ctx, s)
		r.Users = append(r.Users, all...)
		if err != nil {
			return err
		}
	}
	if slices.Contains(parts, "model") {
		all, err := fitting(ctx, s)
		r.Model = append(r.Model, all...)
		if err != nil {
			return err
		}
	}
	if slices.Contains(parts, "sockets") {
		s.Users, s.Nodes, s.Sockets = sockets, 2, true
		all, err := run(ctx, s)
		r.Sockets = append(r.Sockets, all...)
		if err != nil {
			return err
		}
	}
	if slices.Contains(parts, "streams") {
		all, err := minutes(ctx, streams, s.Rest)
		r.Streams = append(r.Streams, all...)
		if err != nil {
			return err
		}
	}
	return nil
}

// read adds the figures of files.
func (r *results) read(files ...string) error {
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var one results
		if err := json.Unmarshal(b, &one); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.Users, r.Sockets = append(r.Users, one.Users...), append(r.Sockets, one.Sockets...)
		r.Rows = append(r.Rows, one.Rows...)
		r.Model, r.Streams = append(r.Model, one.Model...), append(r.Streams, one.Streams...)
	}
	return nil
}

// moreFiles lets this process and its children have a file for each socket, as far as the system
// allows it.
func moreFiles() {
	const wanted = 64 << 10
	if unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: wanted, Max: wanted}) == nil {
		return
	}
	var had unix.Rlimit // only root may raise it, and not everywhere
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &had) == nil {
		had.Cur = had.Max
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &had)
	}
}
