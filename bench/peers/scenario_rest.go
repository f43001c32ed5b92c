package main

import (
	"strconv"
	"time"
)

// rest measures a minute in which nobody comes or goes: pages that say that they live, and nodes
// that say it of their users. Nobody asks for the roster meanwhile.
func rest(s *stage) error {
	var fronts [2]*proxy
	for i := range fronts {
		front, err := newProxy("tcp", s.fleet.addr(1+i))
		if err != nil {
			return err
		}
		defer front.close()
		fronts[i] = front
	}
	var all []*visit
	for i := range s.Resting {
		all = append(all, s.comeThrough("u"+strconv.Itoa(i), 1+i%2, fronts[i%2]))
		s.wait(20 * time.Millisecond)
	}
	if err := s.connectedWithin(4*connectTime, all); err != nil {
		return err
	}
	if err := s.assemble(10 * time.Second); err != nil {
		return err
	}
	s.asking.Store(false)
	defer s.asking.Store(true)
	s.wait(time.Second)
	s.fails()
	traffic := func() (down, up, sent float64) {
		for _, f := range fronts {
			down, up, sent = down+float64(f.down.Load()), up+float64(f.up.Load()), sent+float64(f.sent.Load())
		}
		return down, up, sent
	}
	before, err := s.used()
	if err != nil {
		return err
	}
	down, up, sent := traffic()
	s.wait(time.Minute)
	after, err := s.used()
	if err != nil {
		return err
	}
	pages := float64(max(s.Resting, 1))
	lastDown, lastUp, lastSent := traffic()
	s.note("rest: CPU ms a page", (after.cpu-before.cpu).Seconds()*1000/pages)
	s.note("rest: Redis CPU ms a page", (after.redis-before.redis).Seconds()*1000/pages)
	s.note("rest: bytes to a page", (lastDown-down)/pages)
	s.note("rest: bytes from a page", (lastUp-up)/pages)
	s.note("rest: messages from a page", (lastSent-sent)/pages)
	return nil
}
