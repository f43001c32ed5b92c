package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/child"
)

// A row is what is promised of a small fleet: five nodes, 50 users each, in "site" and three
// threads.
type row struct {
	What, Target, Measured string
}

const (
	rowNodes = 5
	rowUsers = 250
	away     = 15 * time.Second // how long Redis is away
)

// rows measures what is promised of a small fleet.
func rows(ctx context.Context, rest time.Duration) (all []row, err error) {
	f, err := startFleet(ctx, plan{Nodes: rowNodes, Threads: 3}, rowUsers, 0, false)
	if err != nil {
		return nil, err
	}
	defer f.stop()
	if err := f.open(numbers(0, rowUsers), 0); err != nil {
		return nil, err
	}
	time.Sleep(rest / 4)
	for _, of := range []struct {
		what, target string
		measure      func(context.Context) (string, error)
	}{
		{"commands a second and node, four topics", "≤ 10", func(ctx context.Context) (string, error) { return f.quiet(ctx, rest) }},
		{"a user with a page at each node turns idle, and back: messages of site, the thread and notices; changes seen of the thread", "2 + 2; 2", f.idleAndBack},
		{"Redis away for 15 s, ten come and ten go meanwhile: joins and leaves are told after its return", "≤ 1 s, ≤ 10 s", f.redisAway},
		{"kill -9 of a node with 50 users: gone after", "≤ 12 s", f.crash},
	} {
		fmt.Fprintln(os.Stderr, of.what)
		measured, err := of.measure(ctx)
		if err != nil {
			return all, fmt.Errorf("%s: %w", of.what, err)
		}
		all = append(all, row{of.what, of.target, measured})
	}
	return all, nil
}

// numbers are n numbers from first on.
func numbers(first, n int) (all []int) {
	for i := range n {
		all = append(all, first+i)
	}
	return all
}

func (f *fleet) quiet(ctx context.Context, rest time.Duration) (string, error) {
	before, err := f.work(ctx, false)
	if err != nil {
		return "", err
	}
	time.Sleep(rest)
	after, err := f.work(ctx, false)
	return rate(after.commands-before.commands, after.at.Sub(before.at).Seconds()*rowNodes), err
}

// idleAndBack counts what is published, because each change of a topic and each notice is, and
// beats of pages are not.
func (f *fleet) idleAndBack(ctx context.Context) (string, error) {
	const user = rowUsers // of the first thread
	for i := range f.nodes {
		if _, err := child.Call[struct{}](f.holders[i], "Rest.Open", Open{Users: []int{user}}); err != nil {
			return "", err
		}
	}
	messages, stop, err := f.bus.messages(ctx)
	if err != nil {
		return "", err
	}
	defer stop()
	say := func(idle bool, beats int) (published int, err error) {
		before := messages.Load()
		for beat := range beats {
			if beat > 0 {
				time.Sleep(12 * time.Second)
			}
			for i := range f.nodes {
				if _, err := child.Call[struct{}](f.nodes[i], "Rest.Say", Saying{user, idle}); err != nil {
					return 0, err
				}
				time.Sleep(200 * time.Millisecond) // pages do not beat at the same moment
			}
			time.Sleep(3 * time.Second)
		}
		return int(messages.Load() - before), nil
	}
	if _, err := say(false, 1); err != nil { // what is said for the first time may be told
		return "", err
	}
	if _, err := f.seen(true); err != nil {
		return "", err
	}
	var published [2]int
	for i, idle := range []bool{true, false} {
		if published[i], err = say(idle, 2); err != nil {
			return "", err
		}
	}
	s, err := f.seen(false)
	return fmt.Sprintf("%d + %d messages; %d changes seen", published[0], published[1], s.Came[user]), err
}

// redisAway stops Redis for a while.
func (f *fleet) redisAway(context.Context) (string, error) {
	if _, err := f.seen(true); err != nil {
		return "", err
	}
	redis := f.bus.Process
	if err := redis.Signal(syscall.SIGSTOP); err != nil {
		return "", err
	}
	defer redis.Signal(syscall.SIGCONT)
	stopped := time.Now()
	go10, come10 := numbers(10, 10), numbers(f.next+rowNodes, 10)
	f.next += 20
	time.Sleep(time.Second)
	for i := range f.nodes {
		if _, err := child.Call[struct{}](f.holders[i], "Rest.Close", go10); err != nil {
			return "", err
		}
	}
	came := make(chan error, 1)
	go func() { came <- f.open(come10, 0) }()
	time.Sleep(time.Until(stopped.Add(away)))
	if err := redis.Signal(syscall.SIGCONT); err != nil {
		return "", err
	}
	back := time.Now()
	if err := <-came; err != nil {
		return "", err
	}
	var joins, leaves time.Duration
	for time.Since(back) < time.Minute && (joins == 0 || leaves == 0) {
		var ph phase
		if err := f.judge(&ph, come10, nil); err != nil {
			return "", err
		}
		if joins == 0 && ph.Missed == 0 {
			joins = time.Since(back)
		}
		if ph.Missed = 0; leaves == 0 {
			if err := f.judge(&ph, nil, go10); err != nil {
				return "", err
			}
			if ph.Missed == 0 {
				leaves = time.Since(back)
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	var ph phase
	if err := f.judge(&ph, nil, go10); err != nil {
		return "", err
	}
	return fmt.Sprintf("%.1f s, %.1f s; %d false leaves", joins.Seconds(), leaves.Seconds(), ph.False), nil
}

func (f *fleet) crash(context.Context) (string, error) {
	if _, err := f.seen(true); err != nil {
		return "", err
	}
	lost, err := f.kill(rowNodes - 1)
	if err != nil {
		return "", err
	}
	var ph phase
	ours := map[int]int{}
	for _, user := range lost {
		ours[user]++
	}
	delete(ours, rowUsers) // has pages elsewhere
	lost = without(ours)
	err = f.awaitGone(&ph, lost, time.Minute)
	return fmt.Sprintf("%.1f s; %d false leaves", ph.Last.Seconds(), ph.False), err
}
