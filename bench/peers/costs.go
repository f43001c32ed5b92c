package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A cost is a column of the table of costs.
type cost struct {
	title, letter string
	value         func(cell) (text string, order float64)
}

// figure returns a cost that is one number.
func figure(title, letter, format string, value func(cell) float64) cost {
	return cost{title, letter, func(c cell) (string, float64) { v := value(c); return fmt.Sprintf(format, v), v }}
}

// noted returns a cost that is a note of the scenario. An old cell may not have it.
func noted(title, letter, format, note string) cost {
	return cost{title, letter, func(c cell) (string, float64) {
		if v, ok := c.Notes[note]; ok {
			return fmt.Sprintf(format, v), v
		}
		return "not played", 0
	}}
}

// withRedis returns a cost of which a part is Redis'.
func withRedis(title, letter, note, redis string) cost {
	return cost{title, letter, func(c cell) (string, float64) {
		all, part := c.Notes[note], c.Notes[redis]
		if part == 0 {
			return fmt.Sprintf("%.1f", all), all
		}
		return fmt.Sprintf("%.1f + %.1f", all-part, part), all
	}}
}

// newNode is the time until a new node knew all.
func newNode(c cell) (string, float64) {
	if s := c.Notes[newNodeRight]; s != never {
		return fmt.Sprintf("%.1f", s), s
	}
	watched := c.Notes[newNodeWatched]
	return fmt.Sprintf("not in %.0f", watched), watched
}

var costsOf = [][]cost{{
	withRedis("CPU ms a page, nodes + Redis", "R", "rest: CPU ms a page", "rest: Redis CPU ms a page"),
	noted("bytes to a page", "R", "%.0f", "rest: bytes to a page"),
	noted("bytes from a page", "R", "%.0f", "rest: bytes from a page"),
	noted("messages from a page", "R", "%.1f", "rest: messages from a page"),
}, {
	noted("KB to a page in a minute, in B", "B", "%.1f", pageMinute),
	figure("bytes to a page a join, in J", "J", "%.0f", func(c cell) float64 { return float64(c.PageBytes) / float64(max(c.Users, 1)) }),
	withRedis("CPU ms a join, nodes + Redis, in J", "J", "CPU ms a join", "Redis CPU ms a join"),
	noted("KB a connection, in J", "J", "%.0f", "KB a connection"),
	figure("p99 s of a join, in J", "J", "%.2f", func(c cell) float64 { return c.Page[0].Delays.P99 }),
	figure("p99 s of a join at the others, in F", "F", "%.2f", func(c cell) float64 { return c.Page[0].Delays.P99 }),
	{"s until a new node is right, in C", "C", newNode},
}, {
	outageCost("G: user-seconds missing + shown wrongly", "G", outageWrong),
	outageCost("G: slowest join", "G", outageJoin),
	outageCost("G2: user-seconds missing + shown wrongly", "G2", outageWrong),
	outageCost("G2: slowest join", "G2", outageJoin),
}}

// outageCost returns a cost that is read from what the page showed while Redis was away.
func outageCost(title, letter string, of func(verdict) (string, float64)) cost {
	return cost{title, letter, func(c cell) (string, float64) { return of(c.Page[0]) }}
}

func outageWrong(v verdict) (string, float64) {
	return fmt.Sprintf("%.0f + %.0f", v.MissSeconds, v.GhostSeconds), v.MissSeconds + v.GhostSeconds
}

// outageJoin is the time until the slowest of those was shown who came while Redis was away.
func outageJoin(v verdict) (string, float64) {
	if v.Delays.Shown == 0 {
		return "nobody", 0
	}
	return seconds(v.Delays.P99), v.Delays.P99
}

// costs writes what a page and a connection cost, and what an outage did.
func costs(w io.Writer, all summaries, rows []string) {
	row := func(parts ...string) { fmt.Fprintln(w, "| "+strings.Join(parts, " | ")+" |") }
	for i, title := range []string{"A minute at rest, 200 pages", "What it costs", "The page while Redis is away"} {
		fmt.Fprintf(w, "\n### %s\n\n", title)
		head, line := []string{""}, []string{"---"}
		for _, c := range costsOf[i] {
			head, line = append(head, c.title), append(line, "--:")
		}
		row(head...)
		row(line...)
		for _, name := range rows {
			parts := []string{name}
			for _, c := range costsOf[i] {
				parts = append(parts, all.cost(name, c))
			}
			if slices.ContainsFunc(parts[1:], func(p string) bool { return p != "–" }) {
				row(parts...)
			}
		}
	}
}

// cost is a cell of the table: the median of all runs.
func (all summaries) cost(name string, c cost) string {
	s := all[[2]string{name, c.letter}]
	cells := slices.Clone(s.cells)
	switch {
	case len(cells) > 0:
	case s.failed != "":
		return "failed"
	case possible(name, findScenario(c.letter)):
		return "not played"
	default:
		return "–"
	}
	slices.SortFunc(cells, func(a, b cell) int {
		_, x := c.value(a)
		_, y := c.value(b)
		return int(1000 * (x - y))
	})
	text, _ := c.value(cells[len(cells)/2])
	return text
}
