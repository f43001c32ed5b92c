package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/child"
)

// A size says how much is measured, and for how long.
type size struct {
	Users, Nodes int
	PerThread    int // users
	Roster       int // over so many users a topic has counts and no diffs; 0: the default
	Sockets      bool
	Rest         time.Duration
	Rate         float64 // changes a second: half are users who come, half who go
	Changes      time.Duration
	Back         time.Duration // within which the users of a node come back
	Patience     time.Duration // for all users of a dead node to go
	RestOnly     bool          // leave out all that follows
	ChangesOnly  bool          // leave out that nodes die
}

// A phase is a part of a run as it went.
type phase struct {
	Name        string
	Users       int
	Nodes       int // living
	Took        time.Duration
	Commands    int            // of the nodes to Redis
	Calls       map[string]int // by INFO commandstats, those that scripts call among them
	Redis       time.Duration  // of its processor
	RedisBytes  int            // in and out
	RedisMemory int
	CPU         time.Duration // of all living nodes
	Resident    int           // of the largest node
	Requests    int           // of pages at rest
	Rate        float64       // changes a second
	PerThread   int           // users
	Published   int           // messages
	Events      int           // to readers
	Refused     int           // pages that came again because the server was busy
	Cut         int           // connections that a node ended
	Came, Left  int           // users whom the judge saw come and go
	False       int           // users who were seen to leave, and had not
	Missed      int           // users who came or went, and were not seen to
	P50, P99    time.Duration // from coming to another node's reader
	Slowest     time.Duration // to come
	Gone, Last  time.Duration // from a node's death until the first and the last of its users had left
}

// grace is that of track.Config, and a sweep, a second and the noise of the machine.
const grace = 14 * time.Second

// run measures all phases of a size.
func run(ctx context.Context, s size) (all []phase, err error) {
	p := plan{Nodes: s.Nodes, Threads: max(1, s.Users/s.PerThread)}
	f, err := startFleet(ctx, p, s.Users, s.Roster, s.Sockets)
	if err != nil {
		return nil, err
	}
	defer f.stop()
	users := make([]int, s.Users)
	for n := range users {
		users[n] = n
	}
	during := func(name string, do func(*phase) error) error {
		fmt.Fprintln(os.Stderr, name)
		one, err := f.during(ctx, name, do)
		if err == nil {
			all = append(all, one)
		}
		return err
	}
	if err := during("opening", func(*phase) error { return f.open(users, time.Duration(s.Users)*time.Second/s.opening()) }); err != nil {
		return all, err
	}
	// Two periods of heartbeats: what was made at once is spread out, and logs are full.
	time.Sleep(s.Rest / 4)
	if err := during("at rest", func(ph *phase) error { time.Sleep(s.Rest); return f.judge(ph, nil, nil) }); err != nil || s.RestOnly {
		return all, err
	}
	if err := during("changes", func(ph *phase) error {
		// Once the first who went have left, as many leave as come.
		var before, after work
		var errs [2]error
		var measuring sync.WaitGroup
		measuring.Go(func() {
			time.Sleep(grace)
			before, errs[0] = f.work(ctx, false)
			time.Sleep(s.Changes)
			after, errs[1] = f.work(ctx, false)
		})
		went, came, slowest, err := f.churn(s.Rate/2, grace+s.Changes)
		measuring.Wait()
		if err = errors.Join(err, errs[0], errs[1]); err != nil {
			return err
		}
		ph.Slowest, ph.Rate, ph.PerThread = slowest, s.Rate, s.PerThread
		ph.of(after, before)
		time.Sleep(grace)
		return f.judge(ph, came, went)
	}); err != nil || s.ChangesOnly {
		return all, err
	}
	var lost []int
	if err := during("a node dies", func(ph *phase) (err error) {
		if lost, err = f.kill(s.Nodes - 1); err != nil {
			return err
		}
		return f.awaitGone(ph, lost, s.Patience)
	}); err != nil {
		return all, err
	}
	if err := during("its users are back", func(ph *phase) error {
		if err := f.open(lost, s.Back); err != nil {
			return err
		}
		return f.awaitCame(ph, lost, s.Patience)
	}); err != nil || s.Nodes < 3 {
		return all, err
	}
	return all, during("another dies, users return at once", func(ph *phase) (err error) {
		if lost, err = f.kill(s.Nodes - 2); err != nil {
			return err
		}
		// As many as the other nodes can take before the lease of the dead one lapses.
		back := min(len(lost), int(float64(s.opening())*atOnce.Seconds()))
		if err := f.open(lost[:back], atOnce); err != nil {
			return err
		}
		time.Sleep(grace)
		if err := f.judge(ph, nil, nil); err != nil {
			return err
		}
		seen, err := f.seen(false)
		ph.False = len(without(seen.Left, lost[back:]))
		return err
	})
}

// atOnce is within what time users return whose node died: sooner than anybody sees it.
const atOnce = 4 * time.Second

// opening is how many users come a second before all are there.
func (s size) opening() time.Duration {
	if s.Sockets {
		return 900
	}
	return 3000
}

// during measures what happens while do runs, or while do says.
func (f *fleet) during(ctx context.Context, name string, do func(*phase) error) (ph phase, err error) {
	ph = phase{Name: name}
	if _, err := f.seen(true); err != nil {
		return ph, err
	}
	if _, err := f.heard(true); err != nil {
		return ph, err
	}
	before, err := f.work(ctx, false)
	if err != nil {
		return ph, err
	}
	if err := do(&ph); err != nil {
		return ph, fmt.Errorf("%s: %w", name, err)
	}
	if ph.Took == 0 {
		after, err := f.work(ctx, false)
		if err != nil {
			return ph, err
		}
		ph.of(after, before)
	}
	ph.Nodes = len(f.living())
	for _, i := range f.living() {
		held, err := child.Call[[]int](f.holders[i], "Rest.Held", struct{}{})
		if err != nil {
			return ph, err
		}
		ph.Users += len(held)
	}
	heard, err := f.heard(false)
	if err != nil {
		return ph, err
	}
	ph.Events, ph.Cut, ph.Refused = heard.Events, heard.Ended, heard.Refused
	ph.P50, ph.P99 = heard.Lag.Quantile(0.5), heard.Lag.Quantile(0.99)
	return ph, nil
}

// of says what was done between two moments. While a node dies, what that one did before is
// missing, so little is said.
func (ph *phase) of(after, before work) {
	ph.Took = after.at.Sub(before.at)
	redis := after.redis.since(before.redis)
	ph.Calls, ph.Redis, ph.RedisBytes, ph.RedisMemory = redis.Calls, redis.CPU, redis.In+redis.Out, redis.Memory
	ph.Published, ph.Resident = redis.Calls["publish"]+redis.Calls["spublish"], after.resident
	if after.nodes == before.nodes {
		ph.Commands, ph.CPU, ph.Requests = after.commands-before.commands, after.cpu-before.cpu, after.requests-before.requests
	}
}

// judge compares what the judge saw with what happened.
func (f *fleet) judge(ph *phase, came, went []int) error {
	s, err := f.seen(false)
	if err != nil {
		return err
	}
	ph.Came, ph.Left = len(s.Came), len(s.Left)
	ph.False = len(without(s.Left, went))
	for _, of := range []struct {
		users []int
		seen  map[int]int
	}{{came, s.Came}, {went, s.Left}} {
		for _, user := range of.users {
			if of.seen[user] == 0 {
				ph.Missed++
			}
		}
	}
	return nil
}

// awaitCame waits until the judge saw all users come.
func (f *fleet) awaitCame(ph *phase, users []int, patience time.Duration) error {
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		if err := f.judge(ph, users, nil); err != nil || ph.Missed == 0 || time.Now().After(end) {
			return err
		}
	}
}

// awaitGone waits until the judge saw all users of a dead node leave.
func (f *fleet) awaitGone(ph *phase, lost []int, patience time.Duration) error {
	for died := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		s, err := f.seen(false)
		if err != nil {
			return err
		}
		if len(s.Left) > 0 {
			ph.Gone, ph.Last = s.First.Sub(died), s.Last.Sub(died)
		}
		if len(s.Left) >= len(lost) || time.Since(died) > patience {
			return f.judge(ph, nil, lost)
		}
	}
}
