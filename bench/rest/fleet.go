package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/child"
	"github.com/rollcall-go/rollcall/bench/internal/usage"
)

// A fleet is nodes over one Redis, and the users' connections. The nodes hold these themselves;
// real sockets are held by a crowd for each node.
type fleet struct {
	plan    plan
	bus     *bus
	nodes   []*child.Process // nil: killed
	holders []*child.Process
	sockets bool
	next    int // the number of the first user who has not been there yet
}

func startFleet(ctx context.Context, p plan, users, roster int, sockets bool) (f *fleet, err error) {
	f = &fleet{plan: p, sockets: sockets, next: users}
	if f.bus, err = startBus(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.stop()
		}
	}()
	for i := range p.Nodes {
		n, err := child.Start("node")
		if err != nil {
			return f, err
		}
		f.nodes = append(f.nodes, n)
		begin := Begin{Plan: p, Index: i, Socket: f.bus.Socket, Roster: roster, Judge: i == 0}
		if sockets {
			begin.Listen = fmt.Sprintf("127.0.0.%d:0", 10+i)
		}
		addr, err := child.Call[string](n, "Rest.Begin", begin)
		if err != nil {
			return f, err
		}
		holder := n
		if sockets {
			if holder, err = startCrowd(Crowding{
				Plan: p, Index: i, Addr: addr,
				SSE:       "/presence/events?{topics}&limit=1&name={name}" + auto,
				Header:    "Cookie: user={user}\r\n",
				WebSocket: "/presence/ws?{topics}&limit=1&name={name}" + auto,
			}); err != nil {
				return f, err
			}
		}
		f.holders = append(f.holders, holder)
	}
	return f, nil
}

func startCrowd(c Crowding) (*child.Process, error) {
	p, err := child.Start("crowd")
	if err != nil {
		return nil, err
	}
	if _, err := child.Call[string](p, "Rest.Begin", c); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

func (f *fleet) stop() {
	if f.sockets {
		for _, h := range f.holders {
			h.Kill()
		}
	}
	for _, n := range f.nodes {
		if n != nil {
			n.Kill()
		}
	}
	f.bus.Stop()
}

// living are the numbers of the nodes that were not killed.
func (f *fleet) living() (all []int) {
	for i, n := range f.nodes {
		if n != nil {
			all = append(all, i)
		}
	}
	return all
}

// each calls do for each living node's number at the same time.
func (f *fleet) each(do func(i int) error) error {
	living := f.living()
	errs := make(chan error, len(living))
	for _, i := range living {
		go func() { errs <- do(i) }()
	}
	var all []error
	for range living {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// open lets users come at the living nodes: each to its own by number, and to the next one
// where that was killed.
func (f *fleet) open(users []int, within time.Duration) error {
	living := f.living()
	at := make([][]int, len(f.nodes))
	for k, user := range users {
		i := user % f.plan.Nodes
		if f.nodes[i] == nil {
			i = living[k%len(living)]
		}
		at[i] = append(at[i], user)
	}
	return f.each(func(i int) error {
		_, err := child.Call[struct{}](f.holders[i], "Rest.Open", Open{at[i], within})
		return err
	})
}

// churn lets users come and go at all living nodes, and returns who went and who came.
func (f *fleet) churn(rate float64, during time.Duration) (went, came []int, slowest time.Duration, err error) {
	living := f.living()
	done := make([]Churned, len(f.nodes))
	err = f.each(func(i int) (err error) {
		done[i], err = child.Call[Churned](f.holders[i], "Rest.Churn", Churn{
			Rate: rate / float64(len(living)), For: during,
			First: f.next + (i-f.next%f.plan.Nodes+f.plan.Nodes)%f.plan.Nodes, Step: f.plan.Nodes,
		})
		return err
	})
	for _, d := range done {
		went, came, slowest = append(went, d.Went...), append(came, d.Came...), max(slowest, d.Slowest)
	}
	f.next = slices.Max(append(came, f.next)) + 1
	return went, came, slowest, err
}

// kill kills a node, and returns who was there.
func (f *fleet) kill(i int) (lost []int, err error) {
	if lost, err = child.Call[[]int](f.holders[i], "Rest.Held", struct{}{}); err != nil {
		return nil, err
	}
	f.nodes[i].Kill()
	f.nodes[i] = nil
	return lost, nil
}

// seen returns what the judge saw of the threads.
func (f *fleet) seen(reset bool) (Sight, error) {
	return child.Call[Sight](f.nodes[0], "Rest.Seen", reset)
}

// heard returns what the connections of living nodes got, added up.
func (f *fleet) heard(reset bool) (sum Sight, err error) {
	for _, i := range f.living() {
		s, err := child.Call[Sight](f.holders[i], "Rest.Heard", reset)
		if err != nil {
			return sum, err
		}
		sum.Lag.Merge(&s.Lag)
		sum.Events, sum.Bytes = sum.Events+s.Events, sum.Bytes+s.Bytes
		sum.Ended, sum.States, sum.Refused = sum.Ended+s.Ended, sum.States+s.States, sum.Refused+s.Refused
	}
	return sum, nil
}

// A work is what a fleet has done until a moment.
type work struct {
	at       time.Time
	nodes    int
	redis    load
	commands int // that nodes sent to Redis
	cpu      time.Duration
	resident int // of the largest node
	requests int // of pages at rest
}

func (f *fleet) work(ctx context.Context, collect bool) (w work, err error) {
	w.nodes = len(f.living())
	for _, i := range f.living() {
		u, err := child.Call[usage.Usage](f.nodes[i], "Rest.Usage", collect)
		if err != nil {
			return w, err
		}
		w.commands += int(u.Stats["commands"])
		w.cpu += u.CPU()
		w.resident = max(w.resident, u.Resident)
		if f.sockets {
			if u, err = child.Call[usage.Usage](f.holders[i], "Rest.Usage", false); err != nil {
				return w, err
			}
			w.requests += int(u.Stats["requests"])
		}
	}
	w.redis, err = f.bus.load(ctx)
	w.at = time.Now()
	return w, err
}

// without returns the users of a map that are not in any of the lists.
func without(users map[int]int, lists ...[]int) []int {
	left := maps.Clone(users)
	for _, list := range lists {
		for _, user := range list {
			delete(left, user)
		}
	}
	return slices.Sorted(maps.Keys(left))
}
