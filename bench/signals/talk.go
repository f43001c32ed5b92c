package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// patience is how long late words are waited for.
const patience = 3 * time.Second

// sideBySide lets the members of each peer's rooms say words. A peer that fails has no row.
func (r *run) sideBySide(ctx context.Context, chosen []*peer) {
	for _, size := range r.Rooms {
		for _, p := range chosen {
			if err := p.missing(r.config); err != nil {
				fmt.Fprintf(os.Stderr, "%s is left out: %v\n", p.name, err)
				continue
			}
			fmt.Fprintf(os.Stderr, "%s, %d members\n", p.name, size)
			if err := r.peer(ctx, p, size); err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", p.name, err)
			}
		}
	}
}

func (r *run) peer(ctx context.Context, p *peer, size int) error {
	h, err := r.begin(ctx, p, size, true)
	if err != nil {
		return err
	}
	defer h.end()
	for _, rate := range r.Rates {
		t, err := h.talk(ctx, rate, r.For)
		if err != nil {
			return err
		}
		t.Peer = p.name
		r.Talks = append(r.Talks, t)
	}
	return nil
}

// A house is the nodes of a peer, the bus between them and the members.
type house struct {
	bus   *bus
	nodes []*node
	room  *room
	turn  int // whose the next word is
}

// begin starts all of it. Without a bus there is one node, which keeps all in memory.
func (r *run) begin(ctx context.Context, p *peer, size int, withBus bool) (h *house, err error) {
	h = &house{}
	defer func() {
		if err != nil {
			h.end()
		}
	}()
	if withBus && !p.alone {
		if h.bus, err = startBus(ctx); err != nil {
			return h, err
		}
		h.nodes, err = startAll(r.config, p, h.bus)
	} else {
		var n *node
		if n, err = start(r.config, p, nil, "n0"); err == nil {
			h.nodes = []*node{n}
		}
	}
	if err == nil {
		h.room, err = enter(p, h.nodes, size)
	}
	return h, err
}

func (h *house) end() {
	if h.room != nil {
		h.room.close()
	}
	stopAll(h.nodes)
	h.bus.stop()
}

// A talk is words at one rate, and what they cost.
type talk struct {
	Peer        string
	Members     int
	Rate        int // words a second
	Said        int
	Wanted, Got int           // words that came to members
	Nodes       time.Duration // of processors
	Redis       time.Duration
	Took        time.Duration // until the last word came
	Frames      int           // of all members
	Bytes       int
	P50, P99    time.Duration
}

// talk lets members say words, one after the other. No member says two within a second as long
// as there are more members than words a second.
func (h *house) talk(ctx context.Context, rate int, long time.Duration) (t talk, err error) {
	size := len(h.room.members)
	t = talk{Members: size, Rate: rate}
	h.room.settle(300*time.Millisecond, 10*time.Second)
	nodes, err := used(h.nodes)
	if err != nil {
		return t, err
	}
	redis, err := h.bus.used()
	if err != nil {
		return t, err
	}
	h.room.reset()
	begin := time.Now()
	for t.Said < int(float64(rate)*long.Seconds()) && ctx.Err() == nil {
		time.Sleep(time.Until(begin.Add(time.Duration(t.Said) * time.Second / time.Duration(rate))))
		if err := h.room.say(h.next()); err != nil {
			return t, err
		}
		t.Said++
	}
	t.Wanted = t.Said * (size - 1)
	time.Sleep(time.Until(begin.Add(long)))
	got, at := 0, time.Now()
	for end := at.Add(patience); got < t.Wanted && time.Now().Before(end) && time.Since(at) < time.Second; time.Sleep(5 * time.Millisecond) {
		if now := h.room.words(); now > got {
			got, at = now, time.Now()
		}
	}
	t.Took = max(at.Sub(begin), long)
	after, err := used(h.nodes)
	if err != nil {
		return t, err
	}
	t.Nodes = after - nodes
	if after, err = h.bus.used(); err != nil {
		return t, err
	}
	t.Redis = after - redis
	total, err := h.room.total()
	t.Got, t.Frames, t.Bytes = total.Words, total.Frames, total.Bytes
	t.P50, t.P99 = total.WordLag.Quantile(0.5), total.WordLag.Quantile(0.99)
	return t, err
}

// next returns whose turn it is: neighbours in time are at different nodes.
func (h *house) next() int {
	h.turn++
	return h.turn * 7 % len(h.room.members)
}
