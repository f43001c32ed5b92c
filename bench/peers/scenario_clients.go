package main

import (
	"context"
	"strconv"
	"time"
)

// vanish lets clients fall silent: a laptop that is shut, or a telephone in a tunnel.
func vanish(s *stage) error {
	if _, err := s.crowd("u", s.Users, watched); err != nil {
		return err
	}
	var lost []*visit
	for i := range 10 {
		node := 1 + i%2
		front, err := newProxy("tcp", s.fleet.addr(node))
		if err != nil {
			return err
		}
		defer front.close()
		lost = append(lost, s.comeThrough("lost"+strconv.Itoa(i), node, front))
	}
	if err := s.connected(lost); err != nil {
		return err
	}
	if err := s.assemble(calm); err != nil {
		return err
	}
	for _, v := range lost {
		v.vanish()
	}
	s.fails()
	s.see(100*time.Second, 0)
	return nil
}

// slowReader lets one of 50 pages stop reading while users come and go, 20 a second. The page
// that is judged is one of the others.
func slowReader(s *stage) error {
	slow, err := newProxy("tcp", s.fleet.addr(watched))
	if err != nil {
		return err
	}
	defer slow.close()
	slow.small = 4096
	if _, err := s.crowd("reader", 48, watched); err != nil {
		return err
	}
	opening, cancel := context.WithTimeout(s.ctx, openTime)
	defer cancel()
	t, err := s.fleet.watch(opening, slow.address(), func(change) {})
	if err != nil {
		return err
	}
	defer t.close()
	if err := s.assemble(calm); err != nil {
		return err
	}
	slow.freeze()
	s.fails()
	for i := range 4 * s.Users {
		v := s.come("u"+strconv.Itoa(i), 1+i%2)
		s.loops.Go(func() {
			if pause(s.ctx, 6*time.Second) {
				v.leave()
			}
		})
		s.wait(50 * time.Millisecond)
	}
	s.wait(6 * time.Second)
	s.fails() // all have left
	s.see(0, quiet)
	return nil
}

// storm lets many users come within ten seconds, and measures what that costs.
func storm(more int) func(*stage) error {
	return func(s *stage) error {
		before, err := s.used()
		if err != nil {
			return err
		}
		s.fails()
		begin, users := time.Now(), more*s.Joins
		var all []*visit
		for i := range users {
			all = append(all, s.come("u"+strconv.Itoa(i), 1+i%2))
			s.wait(time.Until(begin.Add(time.Duration(i) * 10 * time.Second / time.Duration(users))))
		}
		s.fails() // all have come
		if err := s.connectedWithin(4*connectTime, all); err != nil {
			return err
		}
		s.see(0, 5*time.Second)
		after, err := s.used()
		if err != nil {
			return err
		}
		joins := float64(users)
		s.note("CPU ms a join", (after.cpu-before.cpu).Seconds()*1000/joins)
		s.note("Redis CPU ms a join", (after.redis-before.redis).Seconds()*1000/joins)
		s.note("KB a connection", float64(after.resident-before.resident)/1024/joins)
		return nil
	}
}
