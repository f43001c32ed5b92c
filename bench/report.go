package main

import (
	"bytes"
	"encoding/json"
	"errors"
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

// save writes a line a result, so that a later run is compared with ease.
func (r report) save(file string) error {
	var b bytes.Buffer
	line := func(prefix string, v any) error {
		encoded, err := json.Marshal(v)
		fmt.Fprintf(&b, "%s%s", prefix, encoded)
		return err
	}
	err := line(`{"Setting":`, r.Setting)
	comma := ",\n\"Results\":[\n"
	for _, result := range r.Results {
		err = errors.Join(err, line(comma, result))
		comma = ",\n"
	}
	if r.Results != nil {
		b.WriteString("]")
	}
	comma = ",\n\"Proofs\":[\n"
	for _, proof := range r.Proofs {
		err = errors.Join(err, line(comma, proof))
		comma = ",\n"
	}
	if r.Proofs != nil {
		b.WriteString("]")
	}
	b.WriteString("}\n")
	if err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// load adds what save wrote to a file.
func (r *report) load(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var read report
	if err := json.Unmarshal(b, &read); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	r.Setting = read.Setting
	r.Results = append(r.Results, read.Results...)
	r.Proofs = append(r.Proofs, read.Proofs...)
	return nil
}

// print writes the tables.
func (r *report) print(w io.Writer) {
	fmt.Fprintln(w, r.Setting)
	for _, s := range scenarios() {
		if len(r.Results.named(s.name)) > 0 {
			r.Results.table(w, s, peers.All())
		}
	}
	for _, p := range r.Proofs {
		p.print(w)
	}
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
