package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/rollcall-go/rollcall/bench/internal/peers"
)

// A report is all that a run measured.
type report struct {
	Setting setting
	Results results
	Proofs  []proved
}

func (r report) save(file string) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}

// load reads what save wrote, and prints its tables.
func (r *report) load(file string, w io.Writer) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	*r = report{}
	if err := json.Unmarshal(b, r); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	fmt.Fprintln(w, r.Setting)
	for _, s := range scenarios() {
		if len(r.Results.named(s.name)) > 0 {
			r.Results.table(w, s, peers.All())
		}
	}
	for _, p := range r.Proofs {
		p.print(w)
	}
	return nil
}

// named returns a scenario's results.
func (rs results) named(scenario string) (all results) {
	for _, r := range rs {
		if r.Scenario == scenario {
			all = append(all, r)
		}
	}
	return all
}
