package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/bench/internal/peers"
)

// limit is the peer to which the others are held.
const limit = "raw TCP (limit)"

// A result is one peer in one scenario in one round.
type result struct {
	Scenario string
	Peer     string
	Round    int
	Values   values
	Others   float64 // cores that others used meanwhile
	Error    string  `json:",omitempty"`
}

// results are all of a run.
type results []result

// of returns the figures of a column, one a round in which there is one.
func (rs results) of(scenario, peer string, c column) (all []float64) {
	for _, r := range rs {
		v, ok := r.Values[c.key]
		if r.Scenario != scenario || r.Peer != peer || !ok {
			continue
		}
		if c.ratio {
			i := slices.IndexFunc(rs, func(o result) bool {
				return o.Scenario == scenario && o.Peer == limit && o.Round == r.Round && o.Values[c.key] > 0
			})
			if i < 0 {
				continue
			}
			v /= rs[i].Values[c.key]
		}
		all = append(all, v)
	}
	return all
}

func median(all []float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	all = slices.Sorted(slices.Values(all))
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// table writes a scenario's medians as a table of Markdown. The first column has
// its spread.
func (rs results) table(w io.Writer, s *scenario, everybody []peers.Peer) {
	fmt.Fprintf(w, "\n### %s\n\n%s\n\n| |", s.title, strings.ToUpper(s.about[:1])+s.about[1:]+".")
	for i, c := range s.columns {
		fmt.Fprintf(w, " %s |", c.head)
		if i == 0 {
			fmt.Fprint(w, " spread |")
		}
	}
	fmt.Fprint(w, "\n|---|--:|"+strings.Repeat("--:|", len(s.columns))+"\n")
	for _, p := range everybody {
		if first := rs.of(s.name, p.Name, s.columns[0]); len(first) > 0 {
			rs.row(w, s, p.Name, first)
			continue
		}
		for _, r := range rs {
			if r.Scenario == s.name && r.Peer == p.Name && r.Error != "" {
				fmt.Fprintf(w, "| %s | %s |\n", p.Name, r.Error)
				break
			}
		}
	}
	var others []float64
	for _, r := range rs.named(s.name) {
		others = append(others, r.Others)
	}
	fmt.Fprintf(w, "\nOther programs used %.1f cores of the machine meanwhile (median).\n", median(others))
}

func (rs results) row(w io.Writer, s *scenario, peer string, first []float64) {
	fmt.Fprintf(w, "| %s |", peer)
	for i, c := range s.columns {
		v := median(rs.of(s.name, peer, c))
		if math.IsNaN(v) {
			fmt.Fprint(w, " |")
		} else {
			fmt.Fprintf(w, " "+c.format+" |", v)
		}
		if i == 0 {
			fmt.Fprintf(w, " "+c.format+"–"+c.format+" |", slices.Min(first), slices.Max(first))
		}
	}
	fmt.Fprintln(w)
}
