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
	s.loops.Go(func() { s.newNode(len(all)) })
	s.wait(max(35*time.Second, s.Watch)) // the longest time after which a store here is written anew
	s.fails()
	leaveAll(some(all))
	s.see(0, 0)
	return nil
}

// newNodeTime is how long a new node may take to know all users.
const newNodeTime = 20 * time.Second

// newNode starts a node, and notes when it knows all users for the first time.
func (s *stage) newNode(users int) {
	begin := time.Now()
	right := float64(never)
	if s.start(3) == nil {
		for time.Since(begin) < newNodeTime && s.ctx.Err() == nil {
			got, err := s.ask(3)
			if got = slices.DeleteFunc(got, func(u string) bool { return u == watcherName }); err == nil && len(got) == users {
				right = time.Since(begin).Seconds()
				break
			}
			s.wait(100 * time.Millisecond)
		}
	}
	s.note("new node right after s", right)
}

// outage stops Redis for 15 seconds. Meanwhile some go and others come.
func outage(s *stage) error {
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
	s.wait(time.Until(begin.Add(15 * time.Second)))
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
