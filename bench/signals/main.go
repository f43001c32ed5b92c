// Command signals holds Rollcall's signals against other ways to tell a room that somebody is
// typing: the same members and the same words, in one run. README.md says what is measured.
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
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := play(ctx, os.Getenv(roleVariable), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "signals:", err)
		os.Exit(1)
	}
}

// play is what a process of this program does: the parent leads and has the members, and its
// children serve.
func play(ctx context.Context, role string, args []string, w io.Writer) error {
	if role != "" {
		return serve(role, args, os.Stdin, w)
	}
	var cfg config
	flags := flag.NewFlagSet("signals", flag.ExitOnError)
	names := flags.String("peers", "", "separated by semicolons; empty: all that are installed")
	only := flags.String("only", "peers,flushes,diffs,typists", "parts, comma-separated")
	rooms := flags.String("n", "100,1000", "members of a room, each with a connection; comma-separated")
	rates := flags.String("rates", "10,50,300", "words a second in a room; comma-separated")
	quick := flags.Bool("quick", false, "small rooms, briefly: under a minute")
	flags.DurationVar(&cfg.For, "for", 5*time.Second, "each rate")
	flags.IntVar(&cfg.Rounds, "rounds", 5, "rounds of the targets")
	flags.StringVar(&cfg.NodeModules, "node_modules", "node_modules", "where the packages of Node.js are installed")
	flags.StringVar(&cfg.Mercure, "mercure", "mercure", "the program of Mercure")
	figures := flags.String("json", "", "a file for all figures")
	flags.Parse(args)
	var err error
	if cfg.Rooms, err = numbers(*rooms); err != nil {
		return err
	}
	if cfg.Rates, err = numbers(*rates); err != nil {
		return err
	}
	if *quick {
		cfg.Rooms, cfg.Rates, cfg.For, cfg.Rounds = []int{50}, []int{10, 40}, time.Second, 1
	}
	r := &run{config: cfg}
	parts := strings.Split(*only, ",")
	if slices.Contains(parts, "peers") {
		r.sideBySide(ctx, chosen(*names))
	}
	if err := r.targets(ctx, parts); err != nil {
		return err
	}
	r.print(w)
	if *figures == "" {
		return nil
	}
	b, err := json.MarshalIndent(r.figures, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(*figures, append(b, '\n'), 0o644)
}

// A config says how much is measured.
type config struct {
	Rooms, Rates []int
	For          time.Duration
	Rounds       int
	NodeModules  string
	Mercure      string
}

// A run is what all parts share.
type run struct {
	config
	figures
}

func chosen(names string) []*peer {
	if names == "" {
		return peers
	}
	wanted := strings.Split(names, ";")
	return slices.DeleteFunc(slices.Clone(peers), func(p *peer) bool { return !slices.Contains(wanted, p.name) })
}

func numbers(list string) (all []int, err error) {
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a list of numbers", list)
		}
		all = append(all, n)
	}
	return all, nil
}
