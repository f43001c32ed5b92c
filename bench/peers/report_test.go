package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What several runs showed is one text: the median of the times, and the worst of what is wrong.
func TestLook(t *testing.T) {
	crash := findScenario("B")
	of := func(right ...float64) (s summary) {
		for _, r := range right {
			v := verdict{Right: r}
			if r == never {
				v.Ghosts = 50
			}
			s.cells = append(s.cells, cell{Watched: 60, Page: []verdict{v}})
		}
		return s
	}
	some := of(1, 12, 3)
	some.cells[1].FalseLeaves = 4
	for _, tt := range []struct {
		name string
		runs summary
		want string
	}{
		{"one run", of(11.6), "12"},
		{"much spread", some, "**0–4 false**, 1.0–12"},
		{"little spread", of(1.2, 1.9, 1.3), "1.3"},
		{"wrong in one of three", of(1, never, 3), "1.0 or **not in 60 s**: 50 ghosts"},
		{"wrong in all", of(never, never, never), "**not in 60 s**: 50 ghosts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.runs.page(crash).text(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	for want, runs := range map[string]summary{"**4 false**, 3.0": some, "3.0": of(1, never, 3), "**not in 60 s**: 50 ghosts": of(never, never, 3)} {
		if got := runs.page(crash).median().text(); got != want {
			t.Errorf("the median is %q, want %q", got, want)
		}
	}
}

// The seconds of a scenario with two failures count from its headline, and what is wrong after
// the other one makes it never right.
func TestLookOfTwoFailures(t *testing.T) {
	wipe := findScenario("C")
	good, bad := verdict{Right: 2}, verdict{Right: never, Missing: 90}
	for want, verdicts := range map[string][]verdict{
		"2.0":                         {good, verdict{Right: 10}},
		"**not in 60 s**: 90 missing": {good, bad},
		"**not in 60 s**":             {bad, good},
	} {
		s := summary{cells: []cell{{Watched: 60, Page: verdicts}}}
		if got := s.page(wipe).text(); got != want {
			t.Errorf("%+v: got %q, want %q", verdicts, got, want)
		}
	}
}

// A cell that was not played says so, unless the row has not what the scenario breaks.
func TestNotPlayed(t *testing.T) {
	for _, tt := range []struct {
		row  *peer
		want string
	}{{rollcallDefault, "not played"}, {prosody, "–"}} {
		got := summaries{}.text(tt.row.name, findScenario("C"), true)
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.row.name, got, tt.want)
		}
	}
}

// The headline has page and roster, and the number of runs if there are several.
func TestPair(t *testing.T) {
	c := cell{Peer: rollcallDefault.name, Scenario: "B", Page: []verdict{{Right: 1}}, Roster: []verdict{{Right: 2}}}
	for want, cells := range map[string][]cell{"1.0 / 2.0 (1)": {c}, "1.0 / 2.0 (2)": {c, c}, "1.0 / 2.0": {c, c, c}} {
		if got := summarize(cells).text(c.Peer, findScenario("B"), true); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A picture shows the worse of page and roster.
func TestBoth(t *testing.T) {
	crash := findScenario("B")
	for _, tt := range []struct {
		page, roster verdict
		want         look
	}{
		{verdict{Right: 1}, verdict{Right: 24}, look{Right: 24}},
		{verdict{Right: 24}, verdict{Right: 1}, look{Right: 24}},
		{verdict{Right: 1}, verdict{Right: never, Missing: 9}, look{Right: never, Missing: 9}},
		{verdict{Right: never, Ghosts: 50}, verdict{Right: 56}, look{Right: never, Ghosts: 50}},
	} {
		s := summary{cells: []cell{{Page: []verdict{tt.page}, Roster: []verdict{tt.roster}}}}
		if got := s.both(crash); got != tt.want.median() {
			t.Errorf("page %+v, roster %+v: got %+v, want %+v", tt.page, tt.roster, got, tt.want)
		}
	}
}

// Results that are added again take the place of the earlier ones, also in the file.
func TestResults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	for _, users := range []int{1, 2} {
		r, err := loadResults(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, letter := range []string{"A", "B"} {
			if err := r.add(cell{Peer: "p", Scenario: letter, Users: users}); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := loadResults(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Cells) != 2 || r.Cells[0].Users != 2 || r.Cells[1].Users != 2 {
		t.Errorf("got %+v, want the later two", r.Cells)
	}
}

// The pictures have a field for each row and scenario that they show.
func TestDraw(t *testing.T) {
	dir := t.TempDir()
	cells := []cell{{Peer: rollcallDefault.name, Scenario: "B", Page: []verdict{{Right: 11}}}}
	var out strings.Builder
	if err := report(&out, cells, dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"failures-time.svg", "failures-wrong.svg"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Count(string(b), "<rect"), len(strings.Fields(drawn)); got != want {
			t.Errorf("%s: got %d fields, want %d", name, got, want)
		}
	}
}
