// Command bench holds Rollcall's streams against other servers of events, side by
// side in one run: the same changes, the same lean readers, each server and its
// readers in processes of their own. See README.md for what is measured and how.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/child"
	"github.com/rollcall-go/rollcall/bench/internal/peers"
	"github.com/rollcall-go/rollcall/bench/internal/readers"
	"github.com/rollcall-go/rollcall/bench/internal/site"
)

func main() {
	if err := play(child.Role()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// play is what a process of this program does: the parent leads, its children
// serve or read.
func play(role string) error {
	switch role {
	case "server":
		return child.Serve("Server", newServer(os.NewFile(acksFile, "acks")))
	case "site":
		return child.Serve("Site", new(site.Site))
	case "readers":
		set, err := readers.NewSet(os.NewFile(acksFile, "acks"))
		if err != nil {
			return err
		}
		return child.Serve("Readers", set)
	}
	return lead(os.Args[1:], os.Stdout)
}

func lead(args []string, w io.Writer) error {
	var cfg config
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.IntVar(&cfg.Readers, "n", 1000, "readers (open files are the bound: two a reader, in two processes)")
	flags.IntVar(&cfg.Idle, "idle", 10_000, "connections that are counted idle")
	flags.IntVar(&cfg.Rounds, "rounds", 3, "rounds; tables show the median")
	flags.DurationVar(&cfg.For, "for", 2*time.Second, "one measurement")
	scenarios := flags.String("scenarios", "", "comma-separated; empty: backlog, paced, merged, idle, stalled. Beside these: readers, storm, million, or proofs for the three")
	names := flags.String("peers", "", "comma-separated, as the tables name them; empty: all")
	flags.IntVar(&cfg.Tries, "tries", 1, "measure again, so often at most, where others used the machine meanwhile")
	quick := flags.Bool("quick", false, "one short round of a few: under 90 s")
	file := flags.String("json", "", "write every figure to this file")
	plots := flags.String("plots", "", "draw into this directory")
	from := flags.String("from", "", "measure nothing: show what -json wrote to these files, with commas between")
	flags.Parse(args)
	cfg.Scenarios, cfg.Peers = list(*scenarios), list(*names)
	if *quick {
		cfg.Rounds, cfg.Tries, cfg.For, cfg.Idle = 1, 1, time.Second, 2000
		if cfg.Peers == nil {
			cfg.Peers = []string{"rollcall SSE", "rollcall WS", limit, "r3labs/sse", "centrifuge WS"}
		}
	}
	run := report{Setting: newSetting(&cfg)}
	var err error
	if *from != "" {
		run = report{}
		for _, f := range list(*from) {
			err = errors.Join(err, run.load(f))
		}
		run.print(w)
	} else {
		fmt.Fprintln(w, run.Setting)
		err = run.measure(&cfg, w)
	}
	if err == nil && *file != "" {
		err = run.save(*file)
	}
	if err == nil && *plots != "" {
		err = run.draw(*plots)
	}
	return err
}

// measure puts the scenarios to all peers, and then shows what is proved.
func (r *report) measure(cfg *config, w io.Writer) (err error) {
	scenarios, everybody, proofs, err := cfg.pick()
	if err != nil {
		return err
	}
	for _, s := range scenarios {
		r.Results = append(r.Results, compare(cfg, s, everybody)...)
		r.Results.table(w, s, everybody)
	}
	for _, p := range proofs {
		done := prove(cfg, p)
		done.print(w)
		r.Proofs = append(r.Proofs, done)
	}
	return nil
}

// list splits what a flag says.
func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// compare puts a scenario to every peer, in turn, in rounds.
func compare(cfg *config, s *scenario, everybody []peers.Peer) (all results) {
	rounds := cfg.Rounds
	if s.once {
		rounds = 1
	}
	for round := range rounds {
		for _, p := range everybody {
			if s.peers == nil && p.Users || s.peers != nil && !s.peers(p) {
				continue
			}
			fmt.Fprintf(os.Stderr, "%s, round %d of %d: %s\n", s.name, round+1, rounds, p.Name)
			all = append(all, once(cfg, s, p, round))
		}
	}
	return all
}

// calm is how many cores others may use while something is measured.
const calm = 0.25

// once measures one peer, again where somebody else used the machine meanwhile,
// and returns the calmest.
func once(cfg *config, s *scenario, p peers.Peer, round int) (best result) {
	for try := range cfg.Tries {
		r := result{Scenario: s.name, Peer: p.Name, Round: round}
		watch := watchMachine()
		var err error
		if r.Values, err = s.run(cfg, p); err != nil {
			r.Error = err.Error()
		}
		r.Others = watch.others()
		if try == 0 || r.Others < best.Others {
			best = r
		}
		if best.Others < calm {
			break
		}
	}
	return best
}
