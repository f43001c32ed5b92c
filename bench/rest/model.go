package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// A sizing is a fleet of which the model tells what it costs.
type sizing struct {
	Users, Nodes float64
	Rate         float64 // changes a second: half come, half go
	PerThread    float64
}

// reached is at how many nodes a thread has users, if they are spread by chance.
func (s sizing) reached() float64 {
	return s.Nodes * (1 - math.Pow(1-1/s.Nodes, s.PerThread))
}

// replicas is how many topics the nodes keep, all together.
func (s sizing) replicas() float64 { return s.Nodes + s.Users/s.PerThread*s.reached() }

// A model is what one of each thing costs: fitted to fleets that are small enough to be measured.
type model struct {
	RestCommands, RestRedis, RestCPU []float64 // a second: of a node, of a user, of a topic at a node
	Messages                         []float64 // a second: of a change, of a node
	Commands                         []float64 // beyond those at rest: of a change, of a node
	Redis                            []float64 // beyond that at rest: of a change, of a message that a node gets
	CPU                              []float64 // the same, and of a user who reads the counts of the site
	RedisMemory                      []float64 // bytes: of the server, of a user
	NodeMemory                       []float64 // bytes: of the process, of a connection of its own, of a user anywhere
}

// A prediction is what the model says of a fleet. Times are of processors, a second.
type prediction struct {
	Commands, Redis, CPU          float64 // at rest
	BusyCommands, BusyRedis, Busy float64 // with changes
	Messages                      float64 // that nodes get a second
	RedisMemory, NodeMemory       float64
}

func (s sizing) resting() []float64 { return []float64{s.Nodes, s.Users, s.replicas()} }

// received is how many messages the nodes get, if so many are published of which those of changes
// are of threads and the others of the site.
func (m model) received(s sizing) float64 {
	return m.Messages[0]*s.Rate*s.reached() + m.Messages[1]*s.Nodes*s.Nodes
}

func (m model) predict(s sizing) (p prediction) {
	p.Commands, p.Redis, p.CPU = sum(m.RestCommands, s.resting()), sum(m.RestRedis, s.resting()), sum(m.RestCPU, s.resting())
	p.Messages = m.received(s)
	p.BusyCommands = p.Commands + sum(m.Commands, []float64{s.Rate, s.Nodes})
	p.BusyRedis = p.Redis + sum(m.Redis, []float64{s.Rate, p.Messages})
	p.Busy = p.CPU + sum(m.CPU, []float64{s.Rate, p.Messages, s.Users})
	p.RedisMemory = sum(m.RedisMemory, []float64{1, s.Users})
	p.NodeMemory = sum(m.NodeMemory, []float64{1, s.Users / s.Nodes, s.Users})
	return p
}

// A sample is a fleet as it was measured: at rest, and with changes.
type sample struct{ Rest, Changes phase }

func samples(all []phase) (of []sample) {
	for i := range all {
		if all[i].Name == "changes" && i > 0 {
			of = append(of, sample{all[i-1], all[i]})
		}
	}
	return of
}

func (s sample) sizing() sizing {
	return sizing{float64(s.Rest.Users), float64(s.Rest.Nodes), s.Changes.Rate, float64(s.Changes.PerThread)}
}

// measured is the prediction that would have been right.
func (s sample) measured() (p prediction) {
	perSecond := func(ph phase, n float64) float64 { return n / ph.Took.Seconds() }
	p.Commands, p.BusyCommands = perSecond(s.Rest, float64(s.Rest.Commands)), perSecond(s.Changes, float64(s.Changes.Commands))
	p.Redis, p.BusyRedis = perSecond(s.Rest, s.Rest.Redis.Seconds()), perSecond(s.Changes, s.Changes.Redis.Seconds())
	p.CPU, p.Busy = perSecond(s.Rest, s.Rest.CPU.Seconds()), perSecond(s.Changes, s.Changes.CPU.Seconds())
	p.Messages = perSecond(s.Changes, float64(s.Changes.Published)) * float64(s.Rest.Nodes)
	p.RedisMemory, p.NodeMemory = float64(s.Rest.RedisMemory), float64(s.Rest.Resident)
	return p
}

// newModel fits the model to samples.
func newModel(of []sample) (m model) {
	fitted := func(things func(sizing) []float64, figure func(prediction) float64) []float64 {
		var rows [][]float64
		var figures []float64
		for _, s := range of {
			rows, figures = append(rows, things(s.sizing())), append(figures, figure(s.measured()))
		}
		return fit(rows, figures)
	}
	m.RestCommands = fitted(sizing.resting, func(p prediction) float64 { return p.Commands })
	m.RestRedis = fitted(sizing.resting, func(p prediction) float64 { return p.Redis })
	m.RestCPU = fitted(sizing.resting, func(p prediction) float64 { return p.CPU })
	m.Messages = fitted(func(s sizing) []float64 { return []float64{s.Rate * s.reached(), s.Nodes * s.Nodes} }, func(p prediction) float64 { return p.Messages })
	m.Commands = fitted(func(s sizing) []float64 { return []float64{s.Rate, s.Nodes} }, func(p prediction) float64 { return p.BusyCommands - p.Commands })
	m.Redis = fitted(func(s sizing) []float64 { return []float64{s.Rate, m.received(s)} }, func(p prediction) float64 { return p.BusyRedis - p.Redis })
	m.CPU = fitted(func(s sizing) []float64 { return []float64{s.Rate, m.received(s), s.Users} }, func(p prediction) float64 { return p.Busy - p.CPU })
	m.RedisMemory = fitted(func(s sizing) []float64 { return []float64{1, s.Users} }, func(p prediction) float64 { return p.RedisMemory })
	m.NodeMemory = fitted(func(s sizing) []float64 { return []float64{1, s.Users / s.Nodes, s.Users} }, func(p prediction) float64 { return p.NodeMemory })
	return m
}

// fleets are those to which the model is fitted: each differs from another one in one thing. Their nodes have more
// than 64 topics, as those of large fleets do: with fewer, a node asks for the figures of all of them.
func fleets(s size) (all []size) {
	for _, of := range []struct {
		users, nodes int
		rate         float64
		perThread    int
	}{{10_000, 5, 670, 100}, {40_000, 5, 670, 100}, {20_000, 2, 670, 100}, {20_000, 5, 200, 100}, {20_000, 5, 670, 20}} {
		one := s
		one.Users, one.Nodes, one.Rate, one.PerThread, one.ChangesOnly = min(s.Users, of.users), of.nodes, of.rate, min(s.PerThread, of.perThread), true
		one.Roster = one.Users / 2 // a large site has counts
		all = append(all, one)
	}
	return all
}

// fitting measures the fleets to which the model is fitted.
func fitting(ctx context.Context, s size) (all []phase, err error) {
	for _, one := range fleets(s) {
		one.Rest = min(one.Rest, 30*time.Second)
		one.Changes = min(one.Changes, 20*time.Second)
		phases, err := run(ctx, one)
		all = append(all, phases...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// large are the fleets that no machine of ours holds: 50,000 streams a node, sessions of ten
// minutes.
var large = []sizing{
	{Users: 1e6, Nodes: 20, PerThread: 100, Rate: 1e6 / 150},
	{Users: 1e7, Nodes: 200, PerThread: 100, Rate: 1e7 / 150},
}

// printModel shows the model: beside what was measured at the large run, and what it
// says of fleets that are larger than that.
func printModel(w io.Writer, m model, checks []sample) {
	row := func(cells ...string) { fmt.Fprintln(w, "| "+strings.Join(cells, " | ")+" |") }
	fmt.Fprint(w, "\n### Model\n\n")
	header := []string{"", "nodes", "changes/s"}
	for _, f := range figures {
		header = append(header, f.name)
	}
	row(header...)
	row(append([]string{"---"}, strings.Fields(strings.Repeat("--: ", len(header)-1))...)...)
	line := func(name string, s sizing, p prediction) {
		cells := []string{name, fmt.Sprintf("%.0f", s.Nodes), fmt.Sprintf("%.0f", s.Rate)}
		for _, f := range figures {
			cells = append(cells, f.show(f.of(p, s)))
		}
		row(cells...)
	}
	for _, c := range checks {
		s := c.sizing()
		line(fmt.Sprintf("%.0f users, measured", s.Users), s, c.measured())
		line(fmt.Sprintf("%.0f users, by the model", s.Users), s, m.predict(s))
	}
	defer printUnits(w, m)
	for _, s := range large {
		line(fmt.Sprintf("%.0f M users, by the model", s.Users/1e6), s, m.predict(s))
	}
}

// printUnits shows what one of each thing costs.
func printUnits(w io.Writer, m model) {
	fmt.Fprintf(w, "\nAt rest, a second: Redis %.0f µs a node, %.2f µs a user, %.1f µs a topic at a node; nodes %.0f, %.2f and %.1f µs; commands %.1f, %.4f and %.3f.\n",
		1e6*m.RestRedis[0], 1e6*m.RestRedis[1], 1e6*m.RestRedis[2], 1e6*m.RestCPU[0], 1e6*m.RestCPU[1], 1e6*m.RestCPU[2], m.RestCommands[0], m.RestCommands[1], m.RestCommands[2])
	fmt.Fprintf(w, "A change: Redis %.0f µs and %.1f µs for each message that a node gets; nodes %.0f and %.0f µs, and %.2f µs a second for each user who reads counts.\n",
		1e6*m.Redis[0], 1e6*m.Redis[1], 1e6*m.CPU[0], 1e6*m.CPU[1], 1e6*m.CPU[2])
}

// A figure is a column of the model's table.
type figure struct {
	name string
	of   func(prediction, sizing) float64
	show func(float64) string
}

func plainly(v float64) string { return fmt.Sprintf("%.3g", v) }

func inMB(v float64) string { return fmt.Sprintf("%.0f", v/(1<<20)) }

var figures = []figure{
	{"at rest: commands/s a node", func(p prediction, s sizing) float64 { return p.Commands / s.Nodes }, plainly},
	{"Redis: cores", func(p prediction, _ sizing) float64 { return p.Redis }, plainly},
	{"a node: cores", func(p prediction, s sizing) float64 { return p.CPU / s.Nodes }, plainly},
	{"with changes: commands/s a node", func(p prediction, s sizing) float64 { return p.BusyCommands / s.Nodes }, plainly},
	{"messages/s to nodes", func(p prediction, _ sizing) float64 { return p.Messages }, plainly},
	{"Redis: cores", func(p prediction, _ sizing) float64 { return p.BusyRedis }, plainly},
	{"a node: cores", func(p prediction, s sizing) float64 { return p.Busy / s.Nodes }, plainly},
	{"Redis: MB", func(p prediction, _ sizing) float64 { return p.RedisMemory }, inMB},
	{"a node: MB", func(p prediction, _ sizing) float64 { return p.NodeMemory }, inMB},
}
