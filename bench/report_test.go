package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func sampleReport() report {
	rs := results{}
	for round, rate := range []float64{1.5, 2.5, 2} {
		rs = append(rs,
			result{Scenario: "backlog", Peer: "rollcall SSE", Round: round, Values: values{"rate": rate, "cpu": 0.25}},
			result{Scenario: "backlog", Peer: limit, Round: round, Values: values{"rate": 2 * rate}},
			result{Scenario: "backlog", Peer: "gws", Round: round, Error: "it would not start"})
	}
	return report{
		Setting: setting{Date: "2026-11-21", Machine: "2 cores <&>"},
		Results: rs,
		Proofs:  []proved{{Name: "storm", Title: "A storm", Facts: []fact{{"states", "0", "0"}}}},
	}
}

// What is saved comes back, and its tables have medians, spreads and ratios.
func TestReportIsSavedAndShown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures.json")
	if err := sampleReport().save(file); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := r.load(file); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r.print(&out)
	for _, want := range []string{"| rollcall SSE | 2.00 | 1.50–2.50 | 0.50 | 0.25 |", "| " + limit + " | 4.00 | 3.00–5.00 | 1.00 |", "| gws | it would not start |", "| states | 0 | 0 |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got tables without %q:\n%s", want, out.String())
		}
	}
}

// A plot is well-formed, whatever the names in it.
func TestPlotsAreWellFormed(t *testing.T) {
	dir := t.TempDir()
	if err := sampleReport().draw(dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "backlog.svg"))
	if err != nil {
		t.Fatal(err)
	}
	bars := 0
	for d := xml.NewDecoder(bytes.NewReader(b)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			bars++
		}
	}
	if bars != 2 {
		t.Errorf("got %d bars, want 2", bars)
	}
}
