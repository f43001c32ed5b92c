package main

import (
	"math/rand/v2"
	"time"
)

// leaveAll closes pages, all at once.
func leaveAll(all []*visit) {
	done := make(chan struct{})
	for _, v := range all {
		go func() { v.leave(); done <- struct{}{} }()
	}
	for range all {
		<-done
	}
}

// prepareCrash puts users on node 1, and one on the other one.
func prepareCrash(s *stage) ([]*visit, error) {
	stays := s.come("stays", watched)
	all, err := s.crowd("u", s.Users, 1)
	if err == nil {
		err = s.connected([]*visit{stays})
	}
	if err == nil {
		err = s.assemble(calm)
	}
	return all, err
}

// crash kills a node. Its users stay away.
func crash(s *stage) error {
	all, err := prepareCrash(s)
	if err != nil {
		return err
	}
	s.kill(1)
	s.fails()
	leaveAll(all)
	s.see(time.Minute, 0)
	return nil
}

// crashAndReturn kills a node. Its users find the other one within four seconds, and later some
// of them leave.
func crashAndReturn(s *stage) error {
	all, err := prepareCrash(s)
	if err != nil {
		return err
	}
	s.kill(1)
	s.fails()
	leaveAll(all)
	back := make([]*visit, len(all))
	done := make(chan struct{})
	for i, v := range all {
		go func() {
			s.wait(time.Second + rand.N(3*time.Second))
			back[i] = s.come(v.user, watched)
			done <- struct{}{}
		}()
	}
	for range all {
		<-done
	}
	if err := s.connected(back); err != nil {
		return err
	}
	s.wait(15 * time.Second)
	s.fails()
	leaveAll(back[:len(back)/5])
	s.see(0, 0)
	return nil
}

// deploy stops a node as a deployment does, and starts it again. Its pages find a node again.
func deploy(s *stage) error {
	if _, err := prepareCrash(s); err != nil {
		return err
	}
	s.fails()
	if err := s.stop(1); err != nil {
		s.note("slow stops", 1)
	}
	s.wait(time.Second)
	if err := s.start(1); err != nil {
		return err
	}
	s.see(0, 0)
	return nil
}
