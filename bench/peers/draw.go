package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/bench/internal/plot"
)

// drawn are the scenarios of the pictures: those in which something fails, or seems to.
const drawn = "A D D1 B B2 N M S C G G2 H V"

// draw writes the two pictures.
func draw(dir string, cells []cell, all summaries, rows []string) error {
	note := ""
	if len(cells) > 0 {
		note = fmt.Sprintf("Two nodes, 50 users on each, %s. –: there is no Redis, or no second node.", cells[0].Began.Format("2006-01-02"))
	}
	time := &plot.Grid{Title: "Seconds until page and roster are right for good", Note: note,
		Subtitle: "From the failure, or from the last time that somebody left. > : wrong at the end, as long as was watched."}
	wrong := &plot.Grid{Title: "What page and roster show wrongly", Note: note,
		Subtitle: "False: the page shows a leave of a user who is there, or back within 5 s. Ghosts and missing: still so at the end."}
	for _, sc := range scenarios {
		if drawnScenario(sc) {
			time.Columns, wrong.Columns = append(time.Columns, sc.title), append(wrong.Columns, sc.title)
		}
	}
	for _, name := range rows {
		times, wrongs := plot.GridRow{Label: name}, plot.GridRow{Label: name}
		for _, sc := range scenarios {
			if !drawnScenario(sc) {
				continue
			}
			blank := "–"
			if possible(name, sc) {
				blank = "not played"
			}
			t, w := plot.Field{Text: blank, Level: -1}, plot.Field{Text: blank, Level: -1}
			if s := all[[2]string{name, sc.letter}]; len(s.cells) > 0 {
				l := s.both(sc)
				t, w = timeField(l), wrongField(l)
			}
			times.Fields, wrongs.Fields = append(times.Fields, t), append(wrongs.Fields, w)
		}
		time.Rows, wrong.Rows = append(time.Rows, times), append(wrong.Rows, wrongs)
	}
	for name, g := range map[string]*plot.Grid{"failures-time.svg": time, "failures-wrong.svg": wrong} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if _, err := g.WriteTo(f); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// short are the scenarios of the table in the README of bench.
const short = "A D1 B N S C G V"

func drawnScenario(sc *scenario) bool { return slices.Contains(strings.Fields(drawn), sc.letter) }
func headlined(sc *scenario) bool     { return slices.Contains(strings.Fields(short), sc.letter) }

func timeField(l look) plot.Field {
	if l.Right == never {
		return plot.Field{Text: fmt.Sprintf("> %.0f", l.Watched), Level: plot.MaxLevel}
	}
	level := 3
	for i, most := range []float64{2, 15, 60} {
		if l.Right <= most {
			level = i
			break
		}
	}
	return plot.Field{Text: seconds(l.Right), Level: level}
}

func wrongField(l look) plot.Field {
	var lines []string
	if l.False > 0 {
		lines = append(lines, fmt.Sprintf("%d false", l.False))
	}
	if l.Right == never && l.Ghosts > 0 {
		lines = append(lines, plural(l.Ghosts, "ghost"))
	}
	if l.Right == never && l.Missing > 0 {
		lines = append(lines, fmt.Sprintf("%d missing", l.Missing))
	}
	if len(lines) > 2 { // a field has two
		lines = append(lines[:1], fmt.Sprintf("%d wrong", l.Ghosts+l.Missing))
	}
	if len(lines) == 0 {
		return plot.Field{Text: "0", Level: 0}
	}
	level := 3
	if l.Right == never {
		level = plot.MaxLevel
	}
	return plot.Field{Text: strings.Join(lines, "\n"), Level: level}
}
