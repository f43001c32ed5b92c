package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// A report is what a run found: figures that have a target, and tables side by side.
type report struct {
	met    []figure
	tables []*table
}

// A figure is what was measured where there is a target.
type figure struct {
	what, engine, target, measured string
	ok                             bool
}

// within adds a figure that may be at most so long, atLeast one that has a minimum.
func (r *report) within(what string, e *engine, got, most time.Duration) {
	r.add(what, e, "≤ "+short(most), short(got), got <= most)
}

func (r *report) atLeast(what string, e *engine, got, least float64) {
	r.add(what, e, fmt.Sprintf("≥ %.0f", least), fmt.Sprintf("%.0f", got), got >= least)
}

func (r *report) add(what string, e *engine, target, measured string, ok bool) {
	r.met = append(r.met, figure{what, e.name, target, measured, ok})
}

// A table has rows and columns, which are added as they come.
type table struct {
	title         string
	rows, columns []string
	cells         map[[2]string]string
}

func (r *report) table(title string) *table {
	for _, t := range r.tables {
		if t.title == title {
			return t
		}
	}
	t := &table{title: title, cells: make(map[[2]string]string)}
	r.tables = append(r.tables, t)
	return t
}

func (t *table) set(row, column, cell string) {
	if !slices.Contains(t.rows, row) {
		t.rows = append(t.rows, row)
	}
	if !slices.Contains(t.columns, column) {
		t.columns = append(t.columns, column)
	}
	t.cells[[2]string{row, column}] = cell
}

func (r *report) print(w io.Writer) {
	line := func(cells ...string) { fmt.Fprintln(w, "| "+strings.Join(cells, " | ")+" |") }
	if len(r.met) > 0 {
		line("", "", "target", "measured")
		line("---", "---", "--:", "--:")
	}
	for _, f := range r.met {
		if !f.ok {
			f.measured = "**" + f.measured + "**: missed"
		}
		line(f.what, f.engine, f.target, f.measured)
	}
	for _, t := range r.tables {
		fmt.Fprintf(w, "\n%s\n\n", t.title)
		line(append([]string{""}, t.columns...)...)
		line(append([]string{"---"}, slices.Repeat([]string{"--:"}, len(t.columns))...)...)
		for _, row := range t.rows {
			cells := []string{row}
			for _, column := range t.columns {
				cells = append(cells, t.cells[[2]string{row, column}])
			}
			line(cells...)
		}
	}
}

// short is a duration with two or three digits.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.1f µs", float64(d)/1e3)
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(d)/1e3)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// durations are what several calls took.
type durations []time.Duration

// quantile returns the duration that the share q of all is not above.
func (d durations) quantile(q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	return sorted[min(int(q*float64(len(d))), len(d)-1)]
}

func (d durations) median() time.Duration { return d.quantile(0.5) }

// timed adds what n calls took, one after another.
func (d *durations) timed(n int, call func(i int) error) error {
	for i := range n {
		began := time.Now()
		if err := call(i); err != nil {
			return err
		}
		*d = append(*d, time.Since(began))
	}
	return nil
}
