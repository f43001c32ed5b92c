package main

import (
	"math/rand/v2"
	"syscall"
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
	s.loops.Go(s.countMinute)
	leaveAll(all)
	s.see(time.Minute+time.Second, 0)
	return nil
}

// countMinute notes what the page that is judged is sent in a minute.
func (s *stage) countMinute() {
	from := s.watcher.down.Load()
	if pause(s.ctx, time.Minute) {
		s.note(pageMinute, float64(s.watcher.down.Load()-from)/1024)
	}
}

const pageMinute = "KB to the page in a minute"

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

// ownCrash kills the node of the page that is judged, and starts it again after a second. Its
// pages find a node again.
func ownCrash(s *stage) error {
	stays := s.come("stays", 1)
	if _, err := s.crowd("u", s.Users, watched); err != nil {
		return err
	}
	if err := s.connected([]*visit{stays}); err != nil {
		return err
	}
	if err := s.assemble(calm); err != nil {
		return err
	}
	s.fails()
	s.kill(watched)
	s.wait(time.Second)
	if err := s.start(watched); err != nil {
		return err
	}
	s.see(0, 0)
	return nil
}

// standstill stops the process of node 1 for 15 seconds: a machine that swaps, or is moved. Its
// users are there all the time.
func standstill(s *stage) error {
	if _, err := prepareCrash(s); err != nil {
		return err
	}
	node := s.fleet.pid(1)
	s.fails()
	if err := syscall.Kill(node, syscall.SIGSTOP); err != nil {
		return err
	}
	s.wait(15 * time.Second)
	if err := syscall.Kill(node, syscall.SIGCONT); err != nil {
		return err
	}
	s.fails() // what counts is the time since it goes on
	s.see(0, 0)
	return nil
}
