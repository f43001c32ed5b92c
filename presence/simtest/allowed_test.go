package simtest_test

import (
	_ "embed"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// The exceptions of docs/reliability.md are data: testdata/allowed.txt has a line for each, and says what a line means.
// A check that finds a fault asks them. So a game that shows an allowed fault asserts its bound.
//
//go:embed testdata/allowed.txt
var allowedLines string

// An exception is a line of testdata/allowed.txt.
type exception struct {
	row    string
	fault  string
	causes []string
	lasts  bound // of the fault; empty: it has none
	after  bound // the end of each cause
}

// A bound is a sum of durations and of times of a game.
type bound []string

// never is longer than any game.
const never = 1000 * time.Hour

func (b bound) of(g game) (sum time.Duration) {
	times := map[string]time.Duration{
		"TTL": g.ttl(), "NodeTTL": min(g.ttl(), nodeTTL), "grace": g.grace(), "sweep": g.sweep(), "ever": never / 2,
	}
	for _, term := range b {
		d, known := times[term]
		if !known {
			d, _ = time.ParseDuration(term)
		}
		sum += d
	}
	return sum
}

// The allowed are the exceptions, and the kinds of failures that they name.
type allowed struct {
	exceptions []exception
	kinds      map[string][]string // of verbs
}

var lineOfException = regexp.MustCompile(`^(\d+) +(\S+) +(\S+) +(?:for +(\S+) +)?after +(\S+)$`)

// parseAllowed parses testdata/allowed.txt.
func parseAllowed(text string) allowed {
	a := allowed{kinds: make(map[string][]string)}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if kind, verbs, ok := strings.Cut(line, "= "); ok && !strings.HasPrefix(line, "#") {
			a.kinds[strings.TrimSpace(kind)] = strings.Split(verbs, ", ")
		} else if m := lineOfException.FindStringSubmatch(line); m != nil {
			e := exception{row: m[1], fault: m[2], causes: strings.Split(m[3], "+"), after: strings.Split(m[5], "+")}
			if m[4] != "" {
				e.lasts = strings.Split(m[4], "+")
			}
			a.exceptions = append(a.exceptions, e)
		} else if line != "" && !strings.HasPrefix(line, "#") {
			panic("testdata/allowed.txt has the line " + line)
		}
	}
	return a
}

// A finding is a fault that a check found.
type finding struct {
	fault string
	w     *world
	at    *process      // the page's
	s     *picture      // that shows it; nil: a program is told
	u     *person       // whom it is about; nil: the fault is about nobody
	lasts time.Duration // since the user hid, signed out or went
	held  time.Duration // how long the event was held up that shows it
}

// allows reports whether an exception allows a fault.
func (w *world) allows(f finding) bool {
	for _, e := range w.allowed.exceptions {
		if e.fault != f.fault || e.lasts != nil && f.lasts-f.held > e.lasts.of(w.game) {
			continue
		}
		late := func(cause string) bool { return w.ended(cause, f)-f.held > e.after.of(w.game) }
		if !slices.ContainsFunc(e.causes, late) {
			w.note("row %s allows: %s %v", e.row, e.fault, e.causes)
			return true
		}
	}
	return false
}

// ended returns how long ago a cause ended: 0 while it goes on.
func (w *world) ended(cause string, f finding) time.Duration {
	if kind, ok := w.allowed.kinds[cause]; ok {
		return w.since(kind...)
	}
	if fn, ok := causes[cause]; ok {
		return fn(f)
	}
	return w.since(cause)
}

// causes are those that depend on the page, or on the user.
var causes = map[string]func(finding) time.Duration{
	// Two failures, whichever they are.
	"two": func(f finding) time.Duration { return f.w.secondLatest() },
	// The page's node suffers from any failure.
	"node": func(f finding) time.Duration { return f.at.well() },
	// The page's node does not reach the store.
	"node-out": func(f finding) time.Duration { return when(f.at.cutOff()) },
	// The page has connected anew, and has got nothing of the topic since.
	"moved": func(f finding) time.Duration { return when(f.s != nil && f.s.fresh) },
	// A page of the user came to a node that was not well.
	"came-out": func(f finding) time.Duration { return time.Since(time.Unix(0, f.u.cameOut.Load())) },
	// Another node than that of the stream took a beat of the user's page.
	"strays": func(f finding) time.Duration { return time.Since(time.Unix(0, f.u.strayed.Load())) },
	// The store began with a file that lacks a sixth of NodeTTL or more: row 3.
	"old-file": func(f finding) time.Duration { return time.Since(time.Unix(0, f.w.server.outdated.Load())) },
	// A node wrote of the user that had not heard yet that the user hid or signed out.
	"late-write": func(f finding) time.Duration {
		ago := never
		for _, p := range f.w.everyProcess() {
			ago = min(ago, p.link.outrunFor(f.u.id, time.Now().Add(-f.lasts)))
		}
		return ago
	},
	// The store lost what the user chose, and no node knows that.
	"choice-forgotten": func(f finding) time.Duration { return when(f.w.choiceForgotten(f.u)) },
	// The store lost what the user chose, and no node that knows that is well.
	"knower-away": func(f finding) time.Duration { return f.w.knownFor(f.u) },
	// The store lost the sign-out, and no node knows of that.
	"sign-out-forgotten": func(f finding) time.Duration { return when(f.w.forgot(f.u, catchesUp)) },
}

// when returns how long ago a cause ended that either goes on, or never was.
func when(goesOn bool) time.Duration {
	if goesOn {
		return 0
	}
	return never
}

// faults are what the checks find.
var faults = []string{
	"shown-hidden", "hidden-stays", "shown-signed-out", "comes-back", "stays-too-long", "taken-back", "left-unseen", "leaves", "ends-later-stream",
	"program", "program-lacks", "program-gap",
}

// TestAllowed holds each exception against the checks, the failures and the table of docs/reliability.md.
func TestAllowed(t *testing.T) {
	docs, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	a := parseAllowed(allowedLines)
	for _, e := range a.exceptions {
		if !strings.Contains(string(docs), "\n| "+e.row+" | ") {
			t.Errorf("%v: docs/reliability.md has no row %s", e, e.row)
		}
		if !slices.Contains(faults, e.fault) {
			t.Errorf("%v: no check finds %s", e, e.fault)
		}
		for _, cause := range e.causes {
			if a.kinds[cause] == nil && causes[cause] == nil && !isFailure(act{do: strings.ReplaceAll(cause, "-", " ")}) {
				t.Errorf("%v: nobody knows the cause %s", e, cause)
			}
		}
		for _, term := range slices.Concat(e.lasts, e.after) {
			if (bound{term}).of(game{}) == 0 && term != "0s" {
				t.Errorf("%v: %s is no time", e, term)
			}
		}
	}
	for kind, verbs := range a.kinds {
		for _, verb := range verbs {
			if !isFailure(act{do: strings.ReplaceAll(verb, "-", " ")}) {
				t.Errorf("%s: nothing fails as %s", kind, verb)
			}
		}
	}
}
