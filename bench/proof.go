package main

import (
	"fmt"
	"io"
	"os"

	"github.com/rollcall-go/rollcall/bench/internal/child"
	"github.com/rollcall-go/rollcall/bench/internal/site"
	"github.com/rollcall-go/rollcall/bench/internal/usage"
)

// A proof is something that Rollcall promises at a size, shown by itself.
type proof struct {
	name  string
	title string
	run   func(*config) (about string, rows []fact, err error)
}

// A fact is one line of a proof.
type fact struct {
	What   string
	Value  string
	Target string // empty: none
}

func proofs() []proof {
	return []proof{
		{"readers", "Many readers, some of whom stopped reading", proveReaders},
		{"storm", "Everybody comes back at once", proveStorm},
		{"million", "A million users online in one topic", proveMillion},
	}
}

// A proved is a proof as it went.
type proved struct {
	Name, Title, About string
	Facts              []fact
	Error              string `json:",omitempty"`
}

func prove(cfg *config, p proof) proved {
	fmt.Fprintf(os.Stderr, "%s\n", p.name)
	r := proved{Name: p.name, Title: p.title}
	var err error
	if r.About, r.Facts, err = p.run(cfg); err != nil {
		r.Error = err.Error()
	}
	return r
}

func (p proved) print(w io.Writer) {
	fmt.Fprintf(w, "\n### %s\n\n%s\n\n| | measured | target |\n|---|--:|--:|\n", p.Title, p.About)
	for _, f := range p.Facts {
		fmt.Fprintf(w, "| %s | %s | %s |\n", f.What, f.Value, f.Target)
	}
	if p.Error != "" {
		fmt.Fprintf(w, "\nIt failed: %s\n", p.Error)
	}
}

// startSite starts a site as a process.
func startSite(b site.Begin) (p *child.Process, addr string, err error) {
	if p, err = child.Start("site"); err != nil {
		return nil, "", err
	}
	if addr, err = child.Call[string](p, "Site.Listen", b); err != nil {
		p.Stop()
	}
	return p, addr, err
}

func siteUsage(p *child.Process, collect bool) (usage.Usage, error) {
	return child.Call[usage.Usage](p, "Site.Usage", collect)
}

// startReaders starts a process of readers that acknowledges nothing.
func startReaders() (*child.Process, error) {
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return child.Start("readers", nowhere)
}
