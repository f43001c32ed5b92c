// Package plot draws bars as SVG that reads well on a light and on a dark page.
package plot

import (
	"fmt"
	"html"
	"io"
	"slices"
)

// A Bar is one figure with its spread.
type Bar struct {
	Label     string
	Value     float64
	Low, High float64
	Kind      Kind
}

// Kind says how a bar is painted.
type Kind string

// The kinds of bars.
const (
	Ours  Kind = "ours"
	Peer  Kind = "peer"
	Limit Kind = "limit"
)

// A Chart is bars under a title.
type Chart struct {
	Title    string
	Subtitle string // what is counted, and which way is better
	Note     string // when and on what it was measured
	Format   string // of a value, for fmt
	Bars     []Bar
}

// Measures of a chart, in pixels.
const (
	width  = 760
	left   = 190 // room for labels
	right  = 80  // and for values
	top    = 62
	row    = 26
	thick  = 16
	bottom = 30
)

const style = `<style>
text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:#1f2937}
.title{font-size:16px;font-weight:600}.dim{fill:#6b7280}.note{font-size:11px;fill:#6b7280}
.ours{fill:#2563eb}.peer{fill:#a8b3c4}.limit{fill:#d9dee7}.spread{stroke:#1f2937;stroke-opacity:.55}.axis{stroke:#9ca3af}
@media (prefers-color-scheme:dark){text{fill:#e5e7eb}.dim,.note{fill:#9ca3af}.ours{fill:#60a5fa}.peer{fill:#5b6678}.limit{fill:#3a4352}.spread{stroke:#f3f4f6}.axis{stroke:#6b7280}}
</style>
`

// WriteTo writes the chart.
func (c *Chart) WriteTo(w io.Writer) (int64, error) {
	most := 0.0
	for _, b := range c.Bars {
		most = max(most, b.Value, b.High)
	}
	scale := func(v float64) float64 { return v / max(most, 1e-9) * (width - left - right) }
	height := top + row*len(c.Bars) + bottom
	s := fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`+"\n",
		width, height, width, height, html.EscapeString(c.Title))
	s = append(s, style...)
	s = text(s, "title", 8, 22, "start", c.Title)
	s = text(s, "dim", 8, 42, "start", c.Subtitle)
	for i, b := range c.Bars {
		y := top + row*i
		s = text(s, "", left-10, y+13, "end", b.Label)
		s = fmt.Appendf(s, `<rect class="%s" x="%d" y="%d" width="%.1f" height="%d" rx="2"/>`+"\n", b.Kind, left, y, max(scale(b.Value), 1), thick)
		if b.High > b.Low {
			s = fmt.Appendf(s, `<path class="spread" d="M%.1f %dH%.1f"/>`+"\n", left+scale(b.Low), y+thick/2, left+scale(b.High))
		}
		s = text(s, "", left+6+int(scale(max(b.Value, b.High))), y+13, "start", fmt.Sprintf(c.Format, b.Value))
	}
	s = fmt.Appendf(s, `<path class="axis" d="M%d %dV%d"/>`+"\n", left, top-4, top+row*len(c.Bars)-6)
	s = text(s, "note", 8, height-10, "start", c.Note)
	n, err := w.Write(append(s, "</svg>\n"...))
	return int64(n), err
}

func text(s []byte, class string, x, y int, anchor, what string) []byte {
	return fmt.Appendf(s, `<text class="%s" x="%d" y="%d" text-anchor="%s">%s</text>`+"\n", class, x, y, anchor, html.EscapeString(what))
}

// Sort puts the bars in order, the best first.
func (c *Chart) Sort(more bool) {
	slices.SortStableFunc(c.Bars, func(a, b Bar) int {
		if more {
			a, b = b, a
		}
		switch {
		case a.Value < b.Value:
			return -1
		case a.Value > b.Value:
			return 1
		}
		return 0
	})
}
