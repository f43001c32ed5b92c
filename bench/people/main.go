// Command people holds Rollcall's topic "people" against other ways to tell users which of
// their contacts are online: the same watchers, the same contacts and the same changes, in
// one run. README.md says what is measured.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := play(os.Getenv(roleVariable), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "people:", err)
		os.Exit(1)
	}
}

// play is what a process of this program does: the parent leads and has the watchers, and
// its children serve.
func play(role string, w io.Writer) error {
	if role != "" {
		return serve(role, os.Stdin, w)
	}
	var cfg config
	names := flag.String("peers", "", "comma-separated; empty: all that are installed")
	quick := flag.Bool("quick", false, "few watchers, briefly: under two minutes")
	flag.IntVar(&cfg.Watchers, "n", 1000, "watchers, each with a connection")
	flag.IntVar(&cfg.Persons, "persons", 1000, "persons who come and go; half of them are online")
	flag.IntVar(&cfg.Watched, "watched", 500, "persons whom each watcher watches")
	flag.Float64Var(&cfg.Rate, "rate", 50, "changes a second in the busy part")
	flag.DurationVar(&cfg.For, "for", 10*time.Second, "each part")
	flag.StringVar(&cfg.NodeModules, "node_modules", "node_modules", "where socket.io is installed")
	flag.Parse()
	if *quick {
		cfg.Watchers, cfg.Persons, cfg.Rate, cfg.For = 200, 1000, 40, 3*time.Second
	}
	chosen := peers
	if *names != "" {
		chosen = slices.DeleteFunc(slices.Clone(peers), func(p peer) bool {
			return !slices.Contains(strings.Split(*names, ","), p.name)
		})
	}
	fmt.Fprintf(w, "%d watchers, each with %d of %d persons; %.0f changes a second, %.0f deliveries a change\n\n",
		cfg.Watchers, cfg.Watched, cfg.Persons, cfg.Rate, float64(cfg.Watchers*cfg.Watched)/float64(cfg.Persons))
	var all []result
	for _, p := range chosen {
		if err := p.missing(cfg); err != nil {
			fmt.Fprintf(os.Stderr, "%s is left out: %v\n", p.name, err)
			continue
		}
		fmt.Fprintln(os.Stderr, p.name)
		r, err := measure(cfg, p)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", p.name, err)
		}
		all = append(all, r)
	}
	table(w, all)
	return nil
}

// A config says how much is measured.
type config struct {
	Watchers, Persons, Watched int
	Rate                       float64
	For                        time.Duration
	NodeModules                string
}

// pacedRate is how many changes a second come in the paced part: few, so that a watcher
// seldom has two of them within the time in which a server may collect them.
const pacedRate = 8

// A result is what was measured of one peer.
type result struct {
	peer         string
	opened       usage // to open all watches, and the memory that they take
	watchers     int
	paced, busy  part
	read1, read2 time.Duration // to read 100 and 1,000 people; 0: not measured
}

// A part is changes at one rate.
type part struct {
	wanted, got int // deliveries
	usage
	took     time.Duration
	p50, p99 time.Duration
}

// measure starts a server and its watchers, and lets persons come and go.
func measure(cfg config, p peer) (r result, err error) {
	r.peer, r.watchers = p.name, cfg.Watchers
	s, err := start(cfg, p)
	if err != nil {
		return r, err
	}
	defer s.stop()
	crowd, err := newCrowd(cfg, s)
	if err != nil {
		return r, err
	}
	defer crowd.close()
	before, err := s.usage(true)
	if err != nil {
		return r, err
	}
	set, err := watch(cfg, s)
	if err != nil {
		return r, err
	}
	defer set.close()
	after, err := s.usage(true)
	if err != nil {
		return r, err
	}
	r.opened = after.since(before)
	for _, part := range []struct {
		of   *part
		rate float64
	}{{&r.paced, pacedRate}, {&r.busy, cfg.Rate}} {
		if *part.of, err = crowd.change(cfg, s, set, part.rate); err != nil {
			return r, err
		}
	}
	r.read1, r.read2, err = s.read()
	return r, err
}

// table shows the results, with ratios to the first.
func table(w io.Writer, all []result) {
	us := func(d time.Duration, n int) string {
		return fmt.Sprintf("%.1f", float64(d.Nanoseconds())/1000/float64(max(n, 1)))
	}
	ms := func(d time.Duration) string { return fmt.Sprintf("%.0f", float64(d.Microseconds())/1000) }
	row := func(cells ...string) { fmt.Fprintln(w, "| "+strings.Join(cells, " | ")+" |") }
	row("", "open: CPU µs", "open: KB", "paced: µs each", "of it user", "p50 ms", "p99 ms", "busy: delivered/s", "busy: µs each", "of it user", "busy: cores", "% missing", "p50 ms", "p99 ms")
	row("---", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:")
	for _, r := range all {
		row(r.peer, us(r.opened.cpu(), r.watchers), fmt.Sprintf("%.1f", float64(r.opened.resident)/1024/float64(r.watchers)),
			us(r.paced.cpu(), r.paced.got), us(r.paced.user, r.paced.got), ms(r.paced.p50), ms(r.paced.p99),
			fmt.Sprintf("%.0f", float64(r.busy.got)/r.busy.took.Seconds()), us(r.busy.cpu(), r.busy.got), us(r.busy.user, r.busy.got),
			fmt.Sprintf("%.2f", r.busy.cpu().Seconds()/r.busy.took.Seconds()),
			fmt.Sprintf("%.1f", 100*float64(r.busy.wanted-r.busy.got)/float64(max(r.busy.wanted, 1))), ms(r.busy.p50), ms(r.busy.p99))
	}
	for _, r := range all {
		if r.read1 > 0 {
			fmt.Fprintf(w, "\n%s reads 100 people in %v, 1,000 in %v.\n", r.peer, r.read1, r.read2)
		}
	}
}
