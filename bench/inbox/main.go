// Command inbox measures Rollcall's feeds on SQLite and PostgreSQL, beside the tables of
// Laravel and Flarum and the queues River and graphile-worker, in one run. README.md
// says what is measured.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := lead(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "inbox:", err)
		os.Exit(1)
	}
}

// A config says how much is measured.
type config struct {
	Few, Rows   int // notifications in a small and in a large database
	Rounds      int
	Calls       int           // calls of a quick thing a round
	Backlog     int           // messages and jobs that wait
	Rate        int           // messages a second
	For         time.Duration // at that rate
	Recipients  int           // of one message
	Inboxes     int           // at rest
	Rest        time.Duration // how long they are watched
	Dir         string
	NodeModules string
	quick       bool
}

// A part measures one thing on one engine.
type part struct {
	name string
	run  func(context.Context, *run, *engine) error
}

var parts = []part{{"bell", bell}, {"send", send}, {"relay", relay}, {"live", live}, {"bulk", bulk}, {"rest", rest}}

// A run is what all parts share.
type run struct {
	config
	report
	log       io.Writer
	bus       *bus
	databases int // that were filled
}

func lead(ctx context.Context, args []string, w, log io.Writer) error {
	r := &run{log: log, config: config{Few: 10_000}}
	flags := flag.NewFlagSet("inbox", flag.ExitOnError)
	flags.IntVar(&r.Rows, "rows", 1_000_000, "notifications in the large database; PostgreSQL takes up to 0.6 GB for a million, SQLite 0.5")
	flags.IntVar(&r.Rounds, "rounds", 3, "rounds; tables show medians")
	flags.IntVar(&r.Calls, "calls", 500, "calls of a quick thing a round")
	flags.IntVar(&r.Backlog, "backlog", 10_000, "messages and jobs that wait")
	flags.IntVar(&r.Rate, "rate", 500, "messages a second")
	flags.DurationVar(&r.For, "for", 10*time.Second, "how long they come")
	flags.IntVar(&r.Recipients, "recipients", 100_000, "recipients of one message")
	flags.IntVar(&r.Inboxes, "inboxes", 20_000, "inboxes at rest")
	flags.DurationVar(&r.Rest, "rest", time.Minute, "how long inboxes rest")
	flags.StringVar(&r.Dir, "dir", "", "where the databases go for the time of the run. Default: a temporary folder")
	flags.StringVar(&r.NodeModules, "node_modules", "node_modules", "where graphile-worker is installed")
	only := flags.String("only", "", "comma-separated parts: bell, send, relay, live, bulk, rest. Empty: all")
	engines := flags.String("engines", "sqlite,postgres", "comma-separated")
	quick := flags.Bool("quick", false, "tiny sizes, and no waits for the disk: under ten seconds")
	flags.Parse(args)
	if *quick {
		r.quick, r.Few, r.Rows, r.Rounds, r.Calls, r.Backlog, r.Rate, r.For, r.Recipients, r.Inboxes, r.Rest =
			true, 3_000, 5_000, 1, 10, 100, 100, 100*time.Millisecond, 2_000, 50, 500*time.Millisecond
	}
	if r.Rows <= r.Few {
		return fmt.Errorf("-rows is %d, and must be more than %d", r.Rows, r.Few)
	}
	dir, err := os.MkdirTemp(r.Dir, "inbox")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil { // the account of PostgreSQL passes through
		return err
	}
	if r.bus, err = startBus(ctx); err != nil {
		return err
	}
	defer r.bus.stop()
	for _, name := range strings.Split(*engines, ",") {
		err := r.measure(ctx, name, filepath.Join(dir, name), *only)
		if errors.Is(err, errMissing) {
			fmt.Fprintln(log, "left out:", err)
		} else if err != nil {
			return err
		}
	}
	r.print(w)
	return nil
}

func (r *run) measure(ctx context.Context, name, dir, only string) error {
	e, err := startEngine(name, dir, r.quick)
	if err != nil {
		return err
	}
	defer e.stop()
	for _, p := range parts {
		if only != "" && !strings.Contains(","+only+",", ","+p.name+",") {
			continue
		}
		began := time.Now()
		if err := p.run(ctx, r, e); err != nil {
			return fmt.Errorf("%s, %s: %w", e.name, p.name, err)
		}
		fmt.Fprintf(r.log, "%s, %s: %v\n", e.name, p.name, time.Since(began).Round(100*time.Millisecond))
	}
	return nil
}
