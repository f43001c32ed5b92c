package main

import (
	"fmt"
	"os"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/plot"
)

// A chart is the picture of the bytes: a bar for each cell.
type chart struct{ plot.Chart }

func newChart(readers int, length time.Duration) *chart {
	return &chart{plot.Chart{
		Title:    "What a page costs that shows 20 users",
		Subtitle: "bytes a page and second, by users online and changes a second; less is better",
		Note:     fmt.Sprintf("%s, %d readers of each kind for %v, SSE with its framing, two shared cores", time.Now().Format(time.DateOnly), readers, length),
		Format:   "%.0f B",
	}}
}

// add adds a cell.
func (c *chart) add(r row, k kind, got result) {
	bar := plot.Bar{Label: fmt.Sprintf("%d, %d/s: %s", r.online, r.changes, k.short), Value: got.bytes, Kind: plot.Ours}
	if k.query == kinds[0].query {
		bar.Kind = plot.Peer
	}
	c.Bars = append(c.Bars, bar)
}

// write writes the picture; empty: nowhere.
func (c *chart) write(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := c.WriteTo(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
