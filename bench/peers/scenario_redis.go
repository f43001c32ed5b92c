package main

import (
	"slices"
	"strconv"
	"time"
)

// onBoth puts users on both nodes.
func onBoth(s *stage) (all []*visit, err error) {
	for node := 1; node <= watched; node++ {
		some, err := s.crowd("n"+strconv.Itoa(node)+"u", s.Users, node)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, s.assemble(calm)
}

// some returns every k-th of the visits, so that a fifth of each node's is among them.
func some(all []*visit) (few []*visit) {
	for i := 0; i < len(all); i += 10 {
		few = append(few, all[i])
	}
	return few
}

// wipe empties Redis, and starts a new node at once. Later some leave.
func wipe(s *stage) error {
	all, err := onBoth(s)
	if err != nil {
		return err
	}
	if err := s.bus.main.Client.FlushAll(s.ctx).Err(); err != nil {
		return err
	}
	s.fails()
	known := make(chan struct{})
	go func() { defer close(known); s.newNode() }()
	s.wait(max(35*time.Second, s.Watch)) // the longest time after which a store here is written anew
	s.fails()
	leaveAll(some(all))
	s.see(0, 0)
	<-known
	return nil
}

// newNode starts a node, and notes when it knows all who are there for the first time. It watches
// for as long as the longest time in the row's settings, with some room.
func (s *stage) newNode() {
	begin, most := time.Now(), s.peer.longest()
	s.note(newNodeWatched, most.Seconds())
	right := float64(never)
	if s.start(3) == nil {
		for time.Since(begin) < most && s.ctx.Err() == nil {
			got, err := s.ask(3)
			got = slices.DeleteFunc(got, func(u string) bool { return u == watcherName })
			if err == nil && len(got) == s.truth.size() {
				right = time.Since(begin).Seconds()
				break
			}
			s.wait(100 * time.Millisecond)
		}
	}
	s.note(newNodeRight, right)
}

// The notes of newNode.
const (
	newNodeRight   = "new node right after s"
	newNodeWatched = "new node watched for s"
)

// outage stops Redis for a while. Meanwhile some go and others come.
func outage(away time.Duration) func(*stage) error {
	return func(s *stage) error { return s.outage(away) }
}

func (s *stage) outage(away time.Duration) error {
	all, err := onBoth(s)
	if err != nil {
		return err
	}
	if err := s.bus.pause(); err != nil {
		return err
	}
	begin := time.Now()
	s.fails()
	s.wait(3 * time.Second)
	go leaveAll(some(all))
	for i := range len(some(all)) {
		s.come("late"+strconv.Itoa(i), 1+i%2)
	}
	s.wait(time.Until(begin.Add(away)))
	if err := s.bus.resume(); err != nil {
		return err
	}
	s.fails() // what counts is the time since it is back
	s.see(0, 0)
	return nil
}

// failover kills Redis two seconds after its replica has lost it, and promotes the replica. In
// these two seconds some went and others came.
func failover(s *stage) error {
	if err := s.bus.replicate(s.ctx); err != nil {
		return err
	}
	all, err := onBoth(s)
	if err != nil {
		return err
	}
	s.bus.lag()
	go leaveAll(some(all))
	for i := range len(some(all)) {
		s.come("late"+strconv.Itoa(i), 1+i%2)
	}
	s.wait(2 * time.Second)
	s.bus.fail()
	s.fails()
	s.wait(3 * time.Second)
	if err := s.bus.promote(s.ctx); err != nil {
		return err
	}
	s.see(0, 0)
	return nil
}
