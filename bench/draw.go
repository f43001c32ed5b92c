package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/bench/internal/peers"
	"github.com/rollcall-go/rollcall/bench/internal/plot"
)

// draw writes a plot a scenario into a directory.
func (r report) draw(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, s := range scenarios() {
		chart := r.chart(s)
		if len(chart.Bars) == 0 {
			continue
		}
		f, err := os.Create(filepath.Join(dir, s.name+".svg"))
		if err != nil {
			return err
		}
		if _, err := chart.WriteTo(f); err != nil {
			f.Close()
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// chart is a scenario's first column.
func (r report) chart(s *scenario) *plot.Chart {
	c := s.columns[0]
	better := "less is better"
	if c.more {
		better = "more is better"
	}
	if !s.once {
		better += "; the line is the spread of the rounds"
	}
	chart := &plot.Chart{Title: s.title, Subtitle: s.unit + " (" + better + ")", Note: r.Setting.String(), Format: c.format}
	for _, p := range peers.All() {
		all := r.Results.of(s.name, p.Name, c)
		if len(all) == 0 {
			continue
		}
		kind := plot.Peer
		switch {
		case strings.HasPrefix(p.Name, "rollcall"):
			kind = plot.Ours
		case p.Name == limit:
			kind = plot.Limit
		}
		chart.Bars = append(chart.Bars, plot.Bar{Label: p.Name, Value: median(all), Low: slices.Min(all), High: slices.Max(all), Kind: kind})
	}
	chart.Sort(c.more)
	return chart
}
