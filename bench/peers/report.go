package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// A summary is all runs of one scenario with one peer.
type summary struct {
	cells  []cell // without errors
	failed string // what went wrong, if nothing else was seen
}

// summaries finds the cells of each peer and scenario.
type summaries map[[2]string]summary

func summarize(cells []cell) summaries {
	all := summaries{}
	for _, c := range cells {
		key := [2]string{c.Peer, c.Scenario}
		s := all[key]
		if c.Error != "" {
			s.failed = c.Error
		} else {
			s.cells = append(s.cells, c)
		}
		all[key] = s
	}
	return all
}

// rowsOf returns the peers of which there are cells: in the order of the tables, and then others.
func rowsOf(cells []cell) (names []string) {
	for _, p := range peers {
		if slices.ContainsFunc(cells, func(c cell) bool { return c.Peer == p.name }) {
			names = append(names, p.name)
		}
	}
	for _, c := range cells {
		if !slices.Contains(names, c.Peer) {
			names = append(names, c.Peer)
		}
	}
	return names
}

// A look is what a list showed, over all runs.
type look struct {
	Right           float64 // the median
	False           int     // the most of a run
	Ghosts, Missing int     // at the end, the most of a run
}

// page returns what the page showed. The seconds count from the scenario's headline.
func (s summary) page(sc *scenario) look {
	return s.look(sc, func(c cell) ([]verdict, int) { return c.Page, c.FalseLeaves })
}

func (s summary) roster(sc *scenario) look {
	return s.look(sc, func(c cell) ([]verdict, int) { return c.Roster, 0 })
}

// both returns the worse of the page and the roster: a reader sees the one or, on the next page,
// the other.
func (s summary) both(sc *scenario) look {
	l, r := s.page(sc), s.roster(sc)
	if l.Right != never && (r.Right == never || r.Right > l.Right) {
		l.Right = r.Right
	}
	l.Ghosts, l.Missing = max(l.Ghosts, r.Ghosts), max(l.Missing, r.Missing)
	return l
}

func (s summary) look(sc *scenario, of func(cell) ([]verdict, int)) (l look) {
	var right []float64
	for _, c := range s.cells {
		verdicts, false := of(c)
		if len(verdicts) <= sc.headline {
			continue
		}
		last := verdicts[len(verdicts)-1]
		l.False, l.Ghosts, l.Missing = max(l.False, false), max(l.Ghosts, last.Ghosts), max(l.Missing, last.Missing)
		r := verdicts[sc.headline].Right
		if r == never || last.Right == never {
			r = math.Inf(1)
		}
		right = append(right, r)
	}
	slices.Sort(right)
	l.Right = never
	if len(right) > 0 && !math.IsInf(right[len(right)/2], 1) {
		l.Right = right[len(right)/2]
	}
	return l
}

// text is a look in a cell of a table.
func (l look) text() string {
	var parts []string
	if l.False > 0 {
		parts = append(parts, fmt.Sprintf("**%d false**", l.False))
	}
	if l.Right == never {
		parts = append(parts, "**never**"+l.rest())
	} else {
		parts = append(parts, seconds(l.Right))
	}
	return strings.Join(parts, ", ")
}

// rest says what is wrong at the end.
func (l look) rest() string {
	var parts []string
	if l.Ghosts > 0 {
		parts = append(parts, plural(l.Ghosts, "ghost"))
	}
	if l.Missing > 0 {
		parts = append(parts, fmt.Sprintf("%d missing", l.Missing))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func seconds(s float64) string {
	if s < 9.95 {
		return fmt.Sprintf("%.1f", s)
	}
	return fmt.Sprintf("%.0f", s)
}

// report writes the tables, and the pictures into a directory if there is one.
func report(w io.Writer, cells []cell, plots string) error {
	all, rows := summarize(cells), rowsOf(cells)
	row := func(parts ...string) { fmt.Fprintln(w, "| "+strings.Join(parts, " | ")+" |") }
	fmt.Fprintf(w, "\n### The rows\n\n")
	row("row", "what it is")
	row("---", "---")
	for _, p := range peers {
		if slices.Contains(rows, p.name) {
			row(p.name, p.says)
		}
	}
	for _, table := range []struct {
		title string
		look  func(summary, *scenario) look
		shown func(*scenario) bool
		head  func(*scenario) string
	}{
		{"Page and roster", summary.both, drawnScenario, func(sc *scenario) string { return sc.title }},
		{"The page", summary.page, everyScenario, func(sc *scenario) string { return sc.letter }},
		{"The roster", summary.roster, everyScenario, func(sc *scenario) string { return sc.letter }},
	} {
		fmt.Fprintf(w, "\n### %s: seconds until right, false leaves, and what is wrong at the end\n\n", table.title)
		head, line := []string{""}, []string{"---"}
		columns := slices.DeleteFunc(slices.Clone(scenarios), func(sc *scenario) bool { return !table.shown(sc) })
		for _, sc := range columns {
			head, line = append(head, table.head(sc)), append(line, "--:")
		}
		row(head...)
		row(line...)
		for _, name := range rows {
			parts := []string{name}
			for _, sc := range columns {
				parts = append(parts, all.text(name, sc, table.look))
			}
			row(parts...)
		}
	}
	costs(w, all, rows)
	if plots == "" {
		return nil
	}
	return draw(plots, cells, all, rows)
}

func everyScenario(*scenario) bool { return true }

// text is a cell of a table: "–" where the peer has not what the scenario breaks.
func (all summaries) text(name string, sc *scenario, of func(summary, *scenario) look) string {
	s, ok := all[[2]string{name, sc.letter}]
	switch {
	case !ok:
		return "–"
	case len(s.cells) == 0:
		return "not to be had"
	}
	return of(s, sc).text()
}

// costs writes what a page and a connection cost.
func costs(w io.Writer, all summaries, rows []string) {
	row := func(parts ...string) { fmt.Fprintln(w, "| "+strings.Join(parts, " | ")+" |") }
	fmt.Fprintf(w, "\n### What it costs\n\n")
	row("", "KB a minute to a page, in B", "bytes to a page a join, in J", "CPU ms a join, in J", "KB a connection, in J", "p99 s of a join, in J", "p99 s of a join at the others, in F", "s until a new node is right, in C")
	row("---", "--:", "--:", "--:", "--:", "--:", "--:", "--:")
	for _, name := range rows {
		of := func(letter string, value func(cell) float64, format string) string {
			var values []float64
			for _, c := range all[[2]string{name, letter}].cells {
				values = append(values, value(c))
			}
			if len(values) == 0 {
				return "–"
			}
			slices.Sort(values)
			if v := values[len(values)/2]; v != never {
				return fmt.Sprintf(format, v)
			}
			return fmt.Sprintf("> %.0f", newNodeTime.Seconds())
		}
		note := func(name string) func(cell) float64 { return func(c cell) float64 { return c.Notes[name] } }
		row(name,
			of("B", func(c cell) float64 { return float64(c.PageBytes) / 1024 / c.PageSeconds * 60 }, "%.1f"),
			of("J", func(c cell) float64 { return float64(c.PageBytes) / float64(max(c.Users, 1)) }, "%.0f"),
			of("J", note("CPU ms a join"), "%.1f"),
			of("J", note("KB a connection"), "%.0f"),
			of("J", func(c cell) float64 { return c.Page[0].Delays.P99 }, "%.2f"),
			of("F", func(c cell) float64 { return c.Page[0].Delays.P99 }, "%.2f"),
			of("C", note("new node right after s"), "%.1f"))
	}
}
