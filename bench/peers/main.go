// Command peers plays failures against Rollcall and against other servers that know who is
// online, two nodes each, and judges what a page shows meanwhile. README.md says what is
// measured.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A config says what is played.
type config struct {
	NodeModules string        // where packages of npm are
	Cache       string        // where servers are kept that are built here
	Users       int           // on each node, where a scenario does not say otherwise
	Joins       int           // in the storm
	Resting     int           // users in the minute at rest
	Watch       time.Duration // how long a scenario watches after its failure; 0: as it says
	Quick       bool          // a scenario is over once all was right for two seconds
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run is main. In a child it serves.
func run(ctx context.Context, args []string, w io.Writer) error {
	if role := os.Getenv(roleVariable); role != "" {
		return serveRole(ctx, role, args)
	}
	var c config
	set := flag.NewFlagSet("peers", flag.ContinueOnError)
	names := set.String("peers", "", "rows to play, with semicolons between; empty: all that can be had here")
	letters := set.String("scenarios", "", "letters of scenarios, with commas between; empty: all")
	runs := set.Int("runs", 1, "how often each is played")
	first := set.Int("first", 0, "number of the first run, so that more are added to those of a file")
	lanes := set.Int("lanes", 4, "how many are played at a time; those that measure load are played alone")
	path := set.String("json", "", "`file` of results, to which each one is added at once")
	from := set.String("from", "", "`file` of results: write tables and pictures, and play nothing")
	plots := set.String("plots", "", "`directory` for the pictures")
	short := set.Bool("quick", false, "one failure, Rollcall and one other, few users: about 15 seconds")
	set.StringVar(&c.NodeModules, "node_modules", "node_modules", "where packages of npm are installed")
	set.StringVar(&c.Cache, "cache", cacheDir(), "`directory` of the servers that are built here")
	set.IntVar(&c.Users, "users", 50, "users on a node")
	set.IntVar(&c.Joins, "joins", 1000, "users who join within ten seconds in scenario J")
	set.IntVar(&c.Resting, "resting", 200, "users in scenario R, a minute at rest")
	set.DurationVar(&c.Watch, "watch", 0, "how long to watch after a failure (default: as each scenario and peer needs)")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *from != "" {
		r, err := loadResults(*from)
		if err != nil {
			return err
		}
		return report(w, r.Cells, *plots)
	}
	rows, columns := peers, scenarios
	if *short {
		rows, columns = quickPeers, []*scenario{findScenario("B")}
		c.Users, c.Quick = 5, true
	}
	rows, err := chosen(rows, *names, ";", func(p *peer) string { return p.name })
	if err != nil {
		return err
	}
	if columns, err = chosen(columns, *letters, ",", func(sc *scenario) string { return sc.letter }); err != nil {
		return err
	}
	r, err := loadResults(*path)
	if err != nil {
		return err
	}
	if err := playAll(ctx, c, rows, columns, *first, *runs, *lanes, r); err != nil {
		return err
	}
	return report(w, r.Cells, *plots)
}

// chosen returns those of all that are named in a list, or all if it is empty.
func chosen[T any](all []T, list, separator string, name func(T) string) ([]T, error) {
	if list == "" {
		return all, nil
	}
	var some []T
	for _, want := range strings.Split(list, separator) {
		found := false
		for _, one := range all {
			if name(one) == strings.TrimSpace(want) {
				some, found = append(some, one), true
			}
		}
		if !found {
			var names []string
			for _, one := range all {
				names = append(names, name(one))
			}
			return nil, fmt.Errorf("there is no %q, but %s", want, strings.Join(names, separator+" "))
		}
	}
	return some, nil
}

func findScenario(letter string) *scenario {
	for _, sc := range scenarios {
		if sc.letter == letter {
			return sc
		}
	}
	panic("there is no scenario " + letter)
}

// A turn is a scenario that is to be played against a peer.
type turn struct {
	peer     *peer
	scenario *scenario
	run      int
}

// playAll plays each scenario against each peer, some at a time, and then those that measure load.
func playAll(ctx context.Context, c config, rows []*peer, columns []*scenario, first, runs, lanes int, r *results) error {
	var shared, alone []turn
	for run := first; run < first+runs; run++ {
		for _, sc := range columns {
			for _, p := range rows {
				if !sc.possible(p) {
					continue
				}
				if sc.alone {
					alone = append(alone, turn{p, sc, run})
				} else {
					shared = append(shared, turn{p, sc, run})
				}
			}
		}
	}
	// The slowest begin first, so that none is left at the end.
	slices.SortStableFunc(shared, func(a, b turn) int { return cmp.Compare(b.peer.longest(), a.peer.longest()) })
	absent := map[*peer]bool{}
	for _, p := range rows {
		if err := p.missing(c); err != nil {
			fmt.Fprintf(os.Stderr, "%s is left out: %v\n", p.name, err)
			absent[p] = true
		}
	}
	for _, part := range []struct {
		turns []turn
		lanes int
	}{{shared, lanes}, {alone, 1}} {
		queue := make(chan turn)
		failed := make(chan error, part.lanes)
		var all sync.WaitGroup
		for range part.lanes {
			all.Go(func() {
				for t := range queue {
					result := playCell(ctx, c, t.peer, t.scenario, t.run)
					if ctx.Err() != nil {
						continue // it was not played to its end
					}
					fmt.Fprintf(os.Stderr, "%s, %s: %s\n", t.peer.name, t.scenario.letter, result.short())
					if err := r.add(result); err != nil {
						select {
						case failed <- err:
						default:
						}
					}
				}
			})
		}
		for _, t := range part.turns {
			if !absent[t.peer] && ctx.Err() == nil {
				queue <- t
			}
		}
		close(queue)
		all.Wait()
		select {
		case err := <-failed:
			return err
		default:
		}
	}
	return ctx.Err()
}

// short is a cell in one line.
func (c cell) short() string {
	if c.Error != "" {
		return "error: " + c.Error
	}
	return fmt.Sprintf("%d false leaves; page %+v; roster %+v; notes %v", c.FalseLeaves, c.Page, c.Roster, c.Notes)
}
