package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A cell is what was seen when one scenario was played against one peer.
type cell struct {
	Peer, Scenario string
	Run            int
	Began          time.Time
	Commit         string  // of this repository, and the tree of this directory in it
	Load           float64 // of the machine, over a minute
	Users          int     // who were there at the end
	Watched        float64 // seconds after the last failure
	FalseLeaves    int     // on the page
	// Page and Roster have a verdict for each failure, until the next one.
	Page, Roster []verdict
	PageBytes    int64              // that the page was sent
	PageSeconds  float64            // while it was open
	Unanswered   int                // times that the roster was not answered
	Notes        map[string]float64 `json:",omitempty"`
	Error        string             `json:",omitempty"`
}

// playCell plays a scenario, and judges.
func playCell(ctx context.Context, c config, p *peer, sc *scenario, run int) (out cell) {
	out = cell{Peer: p.name, Scenario: sc.letter, Run: run, Began: time.Now().UTC(), Commit: commit(), Load: load()}
	s, err := setStage(ctx, c, p, fmt.Sprint(p.name, sc.letter, run))
	if err != nil {
		out.Error = err.Error()
		return out
	}
	defer s.strike()
	err = sc.play(s)
	end := time.Since(s.begin)
	if err = errors.Join(err, ctx.Err()); err != nil {
		out.Error = err.Error()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	truth, page, roster := s.truth.all(), s.page.all(), s.roster.all()
	for i, failure := range s.failures {
		until := end
		if i+1 < len(s.failures) {
			until = s.failures[i+1]
		}
		out.Page = append(out.Page, judge(truth, page, failure, until))
		out.Roster = append(out.Roster, judge(truth, roster, failure, until))
		out.Watched = (end - failure).Seconds()
	}
	out.FalseLeaves = judge(truth, page, 0, end).FalseLeaves
	out.Users, out.Unanswered, out.Notes = s.truth.size(), s.unanswer, s.extra
	out.Watched = millis(out.Watched)
	out.PageBytes, out.PageSeconds = s.watcher.down.Load(), millis(end.Seconds())
	return out
}

// commit returns that of the repository, and the tree of this directory in it: a commit that is
// moved keeps its tree. Results lie in the tree, so changes that are not committed are not told.
var commit = sync.OnceValue(func() string {
	var parts []string
	for _, what := range []string{"HEAD", "HEAD:./peers"} {
		b, err := exec.Command("git", "rev-parse", "--short=8", what).Output()
		if err != nil {
			return "unknown"
		}
		parts = append(parts, strings.TrimSpace(string(b)))
	}
	return strings.Join(parts, " peers ")
})

// load returns the machine's load over the last minute.
func load() float64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(b), " ")
	l, _ := strconv.ParseFloat(first, 64)
	return l
}

// results are cells in a file.
type results struct {
	path string // empty: none

	mu    sync.Mutex
	Cells []cell
}

// loadResults reads a file. A file that is not there has no cells.
func loadResults(path string) (*results, error) {
	r := &results{path: path}
	b, err := os.ReadFile(path)
	if path == "" || errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(b, r)
	}
	if err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	return r, nil
}

// add keeps a cell in the place of an earlier one, and writes the file.
func (r *results) add(c cell) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.Cells[:0]
	for _, old := range r.Cells {
		if old.Peer != c.Peer || old.Scenario != c.Scenario || old.Run != c.Run {
			kept = append(kept, old)
		}
	}
	r.Cells = append(kept, c)
	if r.path == "" {
		return nil
	}
	b, err := r.json()
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.path+".new", b, 0o644); err != nil {
		return err
	}
	return os.Rename(r.path+".new", r.path)
}

// json has a line for each cell.
func (r *results) json() ([]byte, error) {
	b := []byte(`{"Cells":[`)
	for i, c := range r.Cells {
		line, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, '\n'), line...)
	}
	return append(b, "\n]}\n"...), nil
}
