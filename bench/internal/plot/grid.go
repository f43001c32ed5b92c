package plot

import (
	"fmt"
	"html"
	"io"
	"strings"
)

// A Grid is a table in colours under a title.
type Grid struct {
	Title    string
	Subtitle string // what a field says
	Note     string // when and on what it was measured
	Columns  []string
	Rows     []GridRow
}

// A GridRow is a line of fields.
type GridRow struct {
	Label  string
	Fields []Field
}

// A Field is a text of up to two lines on a colour.
type Field struct {
	Text  string
	Level int // 0 is the best and MaxLevel the worst; negative: there is nothing to say
}

// MaxLevel is the level of the worst fields.
const MaxLevel = 4

// Measures of a grid, in pixels.
const (
	gridLeft   = 214 // room for labels
	gridTop    = 102
	gridColumn = 78
	gridHigh   = 36
	gridGap    = 2
	gridWords  = 11 // characters of a line of a column's title
)

const gridStyle = `<style>
text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:#1f2937}
.title{font-size:16px;font-weight:600}.dim{fill:#6b7280}.note,.column{font-size:11px;fill:#6b7280}.field{font-size:12px}
rect.l0{fill:#d1fae5}rect.l1{fill:#ecfccb}rect.l2{fill:#fef3c7}rect.l3{fill:#fdba74}rect.l4{fill:#fca5a5}rect.none{fill:#f3f4f6}
text.l0{fill:#065f46}text.l1{fill:#3f6212}text.l2{fill:#854d0e}text.l3{fill:#7c2d12}text.l4{fill:#7f1d1d}text.none{fill:#6b7280}
@media (prefers-color-scheme:dark){text{fill:#e5e7eb}.dim,.note,.column{fill:#9ca3af}
rect.l0{fill:#064e3b}rect.l1{fill:#365314}rect.l2{fill:#713f12}rect.l3{fill:#9a3412}rect.l4{fill:#991b1b}rect.none{fill:#1f2937}
text.l0{fill:#a7f3d0}text.l1{fill:#d9f99d}text.l2{fill:#fef08a}text.l3{fill:#ffedd5}text.l4{fill:#fee2e2}text.none{fill:#9ca3af}}
</style>
`

// WriteTo writes the grid.
func (g *Grid) WriteTo(w io.Writer) (int64, error) {
	wide := gridLeft + gridColumn*len(g.Columns) + 8
	high := gridTop + gridHigh*len(g.Rows) + bottom
	s := fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`+"\n",
		wide, high, wide, high, html.EscapeString(g.Title))
	s = append(s, gridStyle...)
	s = text(s, "title", 8, 22, "start", g.Title)
	s = text(s, "dim", 8, 42, "start", g.Subtitle)
	for i, title := range g.Columns {
		lines := wrap(title, gridWords)
		for j, line := range lines {
			s = text(s, "column", gridLeft+gridColumn*i+gridColumn/2, gridTop-8-13*(len(lines)-1-j), "middle", line)
		}
	}
	for i, r := range g.Rows {
		y := gridTop + gridHigh*i
		s = text(s, "", gridLeft-10, y+22, "end", r.Label)
		for j, f := range r.Fields {
			class := "none"
			if f.Level >= 0 {
				class = fmt.Sprintf("l%d", min(f.Level, MaxLevel))
			}
			x := gridLeft + gridColumn*j
			s = fmt.Appendf(s, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="3"/>`+"\n", class, x+gridGap/2, y, gridColumn-gridGap, gridHigh-gridGap)
			lines := strings.Split(f.Text, "\n")
			for k, line := range lines {
				s = text(s, "field "+class, x+gridColumn/2, y+22+14*k-7*(len(lines)-1), "middle", line)
			}
		}
	}
	s = text(s, "note", 8, high-10, "start", g.Note)
	n, err := w.Write(append(s, "</svg>\n"...))
	return int64(n), err
}

// wrap breaks a text into lines of at most most characters, where its words allow that.
func wrap(text string, most int) (lines []string) {
	for _, word := range strings.Fields(text) {
		if last := len(lines) - 1; last >= 0 && len(lines[last])+1+len(word) <= most {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
