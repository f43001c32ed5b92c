package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/hist"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A reader reads the connections in memory of a node, as a transport does: one goroutine for
// all of them.
type reader struct {
	node   int
	judges bool // it remembers who came and went
	group  *track.Group
	come   chan *track.Connection

	mu    sync.Mutex
	sight Sight
	since int64 // when sight began
}

// A Sight is what readers got.
type Sight struct {
	Lag     hist.Hist // from a user's coming to another node, for each reader
	Events  int
	Bytes   int
	Ended   int // connections that the server ended
	Refused int // pages that came again because the server was busy
	States  int // of connections that fell behind; opened connections have one too

	Came, Left map[int]int // users, and how often, if the reader judges
	First      time.Time   // leave
	Last       time.Time   // leave
}

func newReader(node int, judges bool) *reader {
	r := &reader{node: node, judges: judges, group: track.NewGroup(), come: make(chan *track.Connection, 64)}
	r.seen(true)
	go r.run()
	return r
}

func (r *reader) add(c *track.Connection) { r.come <- c }

func (r *reader) run() {
	var woken []*track.Connection
	var events []presence.Event
	for {
		woken = woken[:0]
		select {
		case c := <-r.come:
			r.group.Add(c)
			woken = append(woken, c)
		case <-r.group.Ready():
			woken = r.group.Woken(woken)
		}
		diffs := make(map[*byte][]int64) // the stamps of each diff, read once for all readers
		for _, c := range woken {
			events = c.Events(events[:0])
			r.take(c, events, diffs)
		}
		r.group.Written()
	}
}

// take counts what one connection got.
func (r *reader) take(c *track.Connection, events []presence.Event, diffs map[*byte][]int64) {
	now := time.Now().UnixNano()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := c.Err(); err != nil && !errors.Is(err, context.Canceled) {
		r.sight.Ended++
	}
	for _, e := range events {
		r.sight.Events++
		r.sight.Bytes += len(e.Data)
		switch e.Type {
		case presence.EventState:
			r.sight.States++
		case presence.EventDiff:
			stamps, known := diffs[&e.Data[0]]
			if !known {
				stamps = r.read(e.Data)
				diffs[&e.Data[0]] = stamps
			}
			for _, at := range stamps {
				r.sight.Lag.Add(time.Duration(now - at))
			}
		}
	}
}

// read returns the stamps of users who came to other nodes. The caller holds mu.
func (r *reader) read(data []byte) (stamps []int64) {
	for p := data; ; p = p[1:] {
		i := bytes.IndexByte(p, mark)
		if i < 0 {
			break
		}
		p = p[i:]
		if at, node, ok := readStamp(p); ok && node != r.node && at >= r.since {
			stamps = append(stamps, at)
		}
	}
	if r.judges {
		r.judge(data)
	}
	return stamps
}

func (r *reader) judge(data []byte) {
	var diff struct {
		Joins, Leaves map[string]json.RawMessage
	}
	if err := json.Unmarshal(data, &diff); err != nil {
		panic(err)
	}
	count := func(of map[int]int, users map[string]json.RawMessage) {
		for id := range users {
			if n, err := userNumber(id); err == nil {
				of[n]++
			}
		}
	}
	count(r.sight.Came, diff.Joins)
	count(r.sight.Left, diff.Leaves)
	if len(diff.Leaves) > 0 {
		r.sight.Last = time.Now()
		if r.sight.First.IsZero() {
			r.sight.First = r.sight.Last
		}
	}
}

// seen returns what the reader got, and begins anew where asked.
func (r *reader) seen(reset bool) Sight {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sight
	if reset {
		r.sight = Sight{Came: make(map[int]int), Left: make(map[int]int)}
		r.since = time.Now().UnixNano()
	} else if r.judges {
		s.Came, s.Left = maps.Clone(s.Came), maps.Clone(s.Left)
	}
	return s
}
