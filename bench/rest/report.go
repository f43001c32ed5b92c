package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

func (r *results) print(w io.Writer) {
	row := func(cells ...string) { fmt.Fprintln(w, "| "+strings.Join(cells, " | ")+" |") }
	if len(r.Rows) > 0 {
		row("", "target", "measured")
		row("---", "--:", "--:")
	}
	for _, one := range r.Rows {
		row(one.What, one.Target, one.Measured)
	}
	for _, part := range []struct {
		title string
		all   []phase
	}{{"Connections in memory", r.Users}, {"Real sockets", r.Sockets}} {
		if len(part.all) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n### %s\n\n", part.title)
		row("", "users", "nodes", "commands/s a node", "Redis: cores", "nodes: cores", "Redis MB", "MB, largest node", "requests/s", "came", "left", "false leaves", "not seen", "p50 ms", "p99 ms", "gone after s")
		row("---", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:")
		for _, p := range part.all {
			row(p.cells()...)
		}
	}
	if small := samples(r.Model); len(small) > 0 {
		printModel(w, newModel(small), samples(r.Users))
	}
	if len(r.Streams) == 0 {
		return
	}
	fmt.Fprintf(w, "\n### Streams of the forum\n\n")
	row("", "streams", "requests/s", "commands/s", "Redis KB/s", "Redis: cores", "forum: cores", "MB", "segments/s", "KB/s of streams", "KB/s of beats", "ended")
	row("---", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:")
	for _, m := range r.Streams {
		s := m.Took.Seconds()
		row(m.Way, fmt.Sprint(m.Streams), rate(m.Requests, s), rate(m.Commands, s), rate(m.RedisBytes>>10, s), cores(m.Redis, m.Took), cores(m.CPU, m.Took),
			fmt.Sprint(m.Resident>>20), rate(m.Segments, s), rate(m.Bytes>>10, s), rate(m.BeatBytes>>10, s), fmt.Sprint(m.Ended))
	}
}

func rate(n int, seconds float64) string { return fmt.Sprintf("%.3g", float64(n)/seconds) }

func cores(cpu, took time.Duration) string {
	return fmt.Sprintf("%.3f", cpu.Seconds()/took.Seconds())
}

func (p phase) cells() []string {
	s := p.Took.Seconds()
	ms := func(d time.Duration) string { return fmt.Sprintf("%.3g", float64(d.Microseconds())/1000) }
	cells := []string{p.Name, fmt.Sprint(p.Users), fmt.Sprint(p.Nodes), rate(p.Commands, s*float64(max(1, p.Nodes))), cores(p.Redis, p.Took), cores(p.CPU, p.Took),
		fmt.Sprint(p.RedisMemory >> 20), fmt.Sprint(p.Resident >> 20), rate(p.Requests, s), fmt.Sprint(p.Came), fmt.Sprint(p.Left), fmt.Sprint(p.False), fmt.Sprint(p.Missed), ms(p.P50), ms(p.P99), ""}
	if p.Last > 0 {
		cells[len(cells)-1] = fmt.Sprintf("%.1f–%.1f", p.Gone.Seconds(), p.Last.Seconds())
	}
	return cells
}
