package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/peers"
)

// A scenario is one question put to every peer, in rounds, in turn.
type scenario struct {
	name    string
	title   string
	about   string
	unit    string                // of the first column, for the plot
	peers   func(peers.Peer) bool // nil: all
	once    bool                  // one round says it all
	columns []column              // the first is the one that is drawn
	run     func(*config, peers.Peer) (values, error)
}

// A column is one figure of a scenario.
type column struct {
	key    string
	head   string
	format string // of fmt, for one float64
	ratio  bool   // to that of the limit, in the same round
	more   bool   // more is better
}

// values are figures by their columns' keys.
type values map[string]float64

// A config is how much is measured.
type config struct {
	Readers   int           // of most scenarios
	Idle      int           // connections that are counted idle
	Rounds    int           // each peer in each scenario
	Tries     int           // of one that others disturbed
	For       time.Duration // one measurement
	Scenarios []string
	Peers     []string
}

// scenarios returns all that compare peers, in the order in which they are shown.
func scenarios() []*scenario { return []*scenario{backlog, paced, merged, idle, stalled} }

const (
	warmUp  = 300 * time.Millisecond
	million = 1e6
)

// latency are the columns that all have.
var latency = []column{{key: "p50", head: "p50 ms", format: "%.1f"}, {key: "p99", head: "p99 ms", format: "%.1f"}}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// loaded measures one load on a peer with its readers there.
func loaded(cfg *config, p peers.Peer, o peers.Options, l Load) (values, error) {
	b, err := start(p, o)
	if err != nil {
		return nil, err
	}
	defer b.stop()
	if err := b.dial(cfg.Readers, nil); err != nil {
		return nil, err
	}
	warm := l
	warm.For = warmUp
	if _, err := b.measure(warm); err != nil {
		return nil, err
	}
	l.For = cfg.For
	m, err := b.measure(l)
	if err != nil {
		return nil, err
	}
	if m.Delivered == 0 {
		return nil, fmt.Errorf("it cut all its readers")
	}
	return m.values(cfg.Readers), nil
}

// values are the figures that most scenarios have, of so many readers who came.
func (m measured) values(readers int) values {
	n, all := float64(m.Delivered), float64(m.Count*readers)
	faulty := m.Extra + m.Wrong
	if m.Stuck {
		faulty = 0 // the last call of publish goes on, and its changes come too
	}
	return values{
		"rate":  n / m.Took.Seconds() / million,
		"cpu":   m.CPU.Seconds() * million / n, // s a million, or µs each
		"user":  m.User.Seconds() * million / n,
		"p50":   ms(m.Lag.Quantile(0.5)),
		"p99":   ms(m.Lag.Quantile(0.99)),
		"bytes": float64(m.Bytes) / n,
		"write": float64(m.After.Written-m.Before.Written) / float64(max(m.After.Writes-m.Before.Writes, 1)),
		"lost":  100 * max(all-n, float64(faulty)) / all,
	}
}

var backlog = &scenario{
	name:  "backlog",
	title: "Backlog: up to 32 changes outstanding a reader",
	unit:  "million changes a second that arrive at 1,000 readers together",
	about: "changes come as fast as the slowest reader takes them, never more than 32 ahead of it",
	columns: append([]column{
		{key: "rate", head: "M changes/s", format: "%.2f", more: true},
		{key: "rate", head: "of the limit", format: "%.2f", ratio: true},
		{key: "cpu", head: "CPU s/M", format: "%.2f"},
		{key: "bytes", head: "bytes each", format: "%.0f"},
		{key: "write", head: "bytes a write", format: "%.0f"},
		{key: "lost", head: "% lost", format: "%.1f"},
	}, latency...),
	run: func(cfg *config, p peers.Peer) (values, error) {
		return loaded(cfg, p, peers.Options{}, Load{Window: 32})
	},
}

// deliveriesPaced is how many changes a second arrive at readers where there is
// nothing to batch.
const deliveriesPaced = 50_000

var paced = &scenario{
	name:  "paced",
	title: "Nothing to batch: 50,000 deliveries a second",
	unit:  "the server's CPU for one delivery, in µs",
	about: "changes come one at a time; each has arrived before the next comes",
	columns: append([]column{
		{key: "cpu", head: "CPU µs each", format: "%.2f"},
		{key: "cpu", head: "of a raw write", format: "%.2f", ratio: true},
		{key: "user", head: "user µs", format: "%.2f"},
		{key: "lost", head: "% lost", format: "%.1f"},
	}, latency...),
	run: func(cfg *config, p peers.Peer) (values, error) {
		return loaded(cfg, p, peers.Options{}, Load{Rate: deliveriesPaced / float64(cfg.Readers)})
	},
}

var merged = &scenario{
	name:  "merged",
	title: "1,000 changes a second, merged in 20 ms",
	unit:  "the server's CPU for a million changes at readers, in s",
	about: "each change is counted at each reader; a server that can collect changes does so for 20 ms",
	columns: append([]column{
		{key: "cpu", head: "CPU s/M", format: "%.2f"},
		{key: "rate", head: "M changes/s", format: "%.2f", more: true},
		{key: "bytes", head: "bytes each", format: "%.0f"},
		{key: "lost", head: "% lost", format: "%.1f"},
	}, latency...),
	run: func(cfg *config, p peers.Peer) (values, error) {
		return loaded(cfg, p, peers.Options{Merge: 20 * time.Millisecond}, Load{Rate: 1000})
	},
}

var idle = &scenario{
	name:  "idle",
	title: "Connections that wait",
	unit:  "KB of heap and stacks a connection",
	about: "memory after a garbage collection: heap and stacks, and the whole process. The last column is the CPU time to accept a connection, handshake and first event included",
	once:  true,
	peers: func(peers.Peer) bool { return true },
	columns: []column{
		{key: "memory", head: "KB each", format: "%.2f"},
		{key: "resident", head: "resident KB", format: "%.1f"},
		{key: "goroutines", head: "goroutines", format: "%.1f"},
		{key: "accept", head: "accept CPU µs", format: "%.0f"},
	},
	run: func(cfg *config, p peers.Peer) (values, error) {
		b, err := start(p, peers.Options{Merge: 50 * time.Millisecond})
		if err != nil {
			return nil, err
		}
		defer b.stop()
		if err := b.dial(100, nil); err != nil { // what a server makes once
			return nil, err
		}
		before, err := b.usage(true)
		if err != nil {
			return nil, err
		}
		begun, err := b.usage(false) // a collection costs too
		if err != nil {
			return nil, err
		}
		if err := b.dial(cfg.Idle, nil); err != nil {
			return nil, err
		}
		accepted, err := b.usage(false)
		if err != nil {
			return nil, err
		}
		time.Sleep(time.Second) // nothing of the handshake is left
		after, err := b.usage(true)
		if err != nil {
			return nil, err
		}
		n := float64(cfg.Idle)
		return values{
			"memory":     float64(after.Heap+after.Stacks-before.Heap-before.Stacks) / n / 1024,
			"resident":   float64(after.Resident-before.Resident) / n / 1024,
			"goroutines": float64(after.Goroutines-before.Goroutines) / n,
			"accept":     float64((accepted.CPU() - begun.CPU()).Microseconds()) / n,
		}, nil
	},
}

// pick returns the scenarios, peers and proofs that a config names; without names,
// all scenarios and all peers.
func (cfg *config) pick() (some []*scenario, everybody []peers.Peer, proved []proof, err error) {
	named := func(name string) bool { return slices.Contains(cfg.Scenarios, name) }
	for _, s := range scenarios() {
		if len(cfg.Scenarios) == 0 || named(s.name) {
			some = append(some, s)
		}
	}
	for _, p := range proofs() {
		if named(p.name) || named("proofs") {
			proved = append(proved, p)
		}
	}
	if len(some)+len(proved) == 0 {
		return nil, nil, nil, fmt.Errorf("there is no scenario %q", cfg.Scenarios)
	}
	for _, name := range cfg.Peers {
		if _, ok := peers.Find(name); !ok {
			return nil, nil, nil, fmt.Errorf("there is no peer %q", name)
		}
	}
	everybody = slices.DeleteFunc(peers.All(), func(p peers.Peer) bool { return len(cfg.Peers) > 0 && !slices.Contains(cfg.Peers, p.Name) })
	return some, everybody, proved, nil
}
