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
	First, Last     float64 // the least and the most
	Watched         float64 // seconds after the last failure, the least of a run
	False, Least    int     // the most and the least of a run
	Ghosts, Missing int     // at the end, the most of a run
}

// page returns what the page showed. The seconds count from the scenario's headline.
func (s summary) page(sc *scenario) look {
	return s.look(sc, func(c cell) ([]verdict, int) { return c.Page, c.FalseLeaves })
}

func (s summary) roster(sc *scenario) look {
	return s.look(sc, func(c cell) ([]verdict, int) { return c.Roster, 0 })
}

// both returns the worse of the page and the roster, for the pictures.
func (s summary) both(sc *scenario) look {
	l, r := s.page(sc), s.roster(sc)
	if l.Right != never && (r.Right == never || r.Right > l.Right) {
		l.Right = r.Right
	}
	l.Ghosts, l.Missing = max(l.Ghosts, r.Ghosts), max(l.Missing, r.Missing)
	return l.median()
}

func (s summary) look(sc *scenario, of func(cell) ([]verdict, int)) (l look) {
	var right []float64
	for i, c := range s.cells {
		verdicts, false := of(c)
		if i == 0 || c.Watched < l.Watched {
			l.Watched = c.Watched
		}
		if i == 0 || false < l.Least {
			l.Least = false
		}
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
	at := func(i int) float64 {
		if len(right) == 0 || math.IsInf(right[i], 1) {
			return never
		}
		return right[i]
	}
	l.First, l.Right, l.Last = at(0), at(len(right)/2), at(max(len(right)-1, 0))
	return l
}

// median returns the look without what only some runs showed.
func (l look) median() look {
	l.First, l.Last, l.Least = l.Right, l.Right, l.False
	return l
}

// text is a look in a cell of a table.
func (l look) text() string {
	var parts []string
	switch {
	case l.Least < l.False:
		parts = append(parts, fmt.Sprintf("**%d–%d false**", l.Least, l.False))
	case l.False > 0:
		parts = append(parts, fmt.Sprintf("**%d false**", l.False))
	}
	late := fmt.Sprintf("**not in %.0f s**", l.Watched) + l.rest()
	switch {
	case l.First == never:
		parts = append(parts, late)
	case l.Last == never:
		parts = append(parts, seconds(l.First)+" or "+late)
	case l.Last-l.First > 1:
		parts = append(parts, seconds(l.First)+"–"+seconds(l.Last))
	default:
		parts = append(parts, seconds(l.Right))
	}
	return strings.Join(parts, ", ")
}

// pair is the page and the roster in a cell of a table: with the spread of the runs, or the medians alone.
func (s summary) pair(sc *scenario, spread bool) string {
	page, roster := s.page(sc), s.roster(sc)
	if !spread {
		page, roster = page.median(), roster.median()
	}
	text := page.text()
	page.False, page.Least = 0, 0 // those are the page's alone
	if page.text() == roster.text() {
		return text
	}
	return text + " / " + roster.text()
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
	row("row", "what it is", "released", "what it needs")
	row("---", "---", "---", "---")
	for _, p := range peers {
		if slices.Contains(rows, p.name) {
			row(p.name, p.says, p.year, p.needs)
		}
	}
	for _, table := range []struct {
		title  string
		shown  func(*scenario) bool
		head   func(*scenario) string
		spread bool
	}{
		{"In short", headlined, func(sc *scenario) string { return sc.title }, false},
		{"Page / roster", everyScenario, func(sc *scenario) string { return sc.letter }, true},
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
				parts = append(parts, all.text(name, sc, table.spread))
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

func everyScenario(sc *scenario) bool { return sc.letter != "R" }

// usual is how often most cells are played.
const usual = 3

// text is a cell of a table: "–" where the peer has not what the scenario breaks. If it was not played as often
// as usual, the runs are counted in brackets.
func (all summaries) text(name string, sc *scenario, spread bool) string {
	s, ok := all[[2]string{name, sc.letter}]
	switch {
	case !ok && !possible(name, sc):
		return "–"
	case !ok:
		return "not played"
	case len(s.cells) == 0:
		return "failed" // README.md says why
	}
	return s.pair(sc, spread) + s.runs()
}

func (s summary) runs() string {
	if len(s.cells) == usual {
		return ""
	}
	return fmt.Sprintf(" (%d)", len(s.cells))
}

// possible reports whether a row has what a scenario breaks.
func possible(name string, sc *scenario) bool {
	i := slices.IndexFunc(peers, func(p *peer) bool { return p.name == name })
	return i < 0 || sc.possible(peers[i])
}
