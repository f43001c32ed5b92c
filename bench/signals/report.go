package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// figures are what a run found.
type figures struct {
	Talks   []talk
	Targets []target
}

// A target is a figure that has a bound.
type target struct {
	What, Bound, Measured string
	Met                   bool
}

func (f *figures) atMost(what string, measured, bound float64, unit string) {
	f.Targets = append(f.Targets, target{what, fmt.Sprintf("≤ %g%s", bound, unit), fmt.Sprintf("%.3g%s", measured, unit), measured <= bound})
}

// also adds a figure that has no bound.
func (f *figures) also(what, measured string) {
	f.Targets = append(f.Targets, target{What: what, Measured: measured, Met: true})
}

func (f *figures) print(w io.Writer) {
	row := func(cells ...string) { fmt.Fprintln(w, "| "+strings.Join(cells, " | ")+" |") }
	ms := func(d time.Duration) string { return fmt.Sprintf("%.3g", float64(d.Microseconds())/1000) }
	us := func(d time.Duration, n int) string {
		return fmt.Sprintf("%.3g", float64(d.Nanoseconds())/1000/float64(max(n, 1)))
	}
	if len(f.Talks) > 0 {
		row("members", "words/s", "", "seen", "p50 ms", "p99 ms", "frames/s each", "KB/s each", "cores", "µs a delivery", "Redis: µs a word")
		row("--:", "--:", "---", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:")
	}
	for _, t := range f.Talks {
		seconds := t.Took.Seconds() * float64(t.Members)
		frames, redis := fmt.Sprintf("%.3g", float64(t.Frames)/seconds), us(t.Redis, t.Said)
		if t.Frames == 0 {
			frames = ""
		}
		if t.Redis == 0 {
			redis = ""
		}
		row(fmt.Sprint(t.Members), fmt.Sprint(t.Rate), t.Peer, fmt.Sprintf("%.4g %%", 100*float64(t.Got)/float64(max(t.Wanted, 1))),
			ms(t.P50), ms(t.P99), frames, fmt.Sprintf("%.3g", float64(t.Bytes)/1024/seconds),
			fmt.Sprintf("%.2f", (t.Nodes+t.Redis).Seconds()/t.Took.Seconds()), us(t.Nodes, t.Got), redis)
	}
	if len(f.Targets) > 0 {
		fmt.Fprintln(w)
		row("", "target", "measured")
		row("---", "--:", "--:")
	}
	for _, t := range f.Targets {
		if !t.Met {
			t.Measured = "**" + t.Measured + "**: missed"
		}
		row(t.What, t.Bound, t.Measured)
	}
}
