package plot_test

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/bench/internal/plot"
)

// A grid is well-formed XML with a rectangle for each field, and breaks what is long.
func TestGrid(t *testing.T) {
	g := plot.Grid{
		Title: "Tabs & pages", Columns: []string{"users come back", "FLUSHALL"},
		Rows: []plot.GridRow{
			{Label: "one", Fields: []plot.Field{{Text: "0", Level: 0}, {Text: "–", Level: -1}}},
			{Label: "two", Fields: []plot.Field{{Text: "3 <false>\n4 ghosts", Level: 99}, {Text: "12", Level: 1}}},
		},
	}
	var b strings.Builder
	if _, err := g.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	svg := b.String()
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		_, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
	}
	for _, want := range []string{">users come<", ">back<", ">FLUSHALL<", `<rect class="none"`, `<rect class="l4"`, ">3 &lt;false&gt;<", ">4 ghosts<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("there is no %s in %s", want, svg)
		}
	}
	if got := strings.Count(svg, "<rect"); got != 4 {
		t.Errorf("got %d fields, want 4", got)
	}
}
