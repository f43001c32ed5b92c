package main

import "time"

// tabs lets two users open two pages each, one of them on two nodes. Each closes one page, which
// nobody may see, and later the other one.
func tabs(s *stage) error {
	var first, second []*visit
	for i, node := range []int{1, watched} {
		user := []string{"same", "split"}[i]
		first = append(first, s.come(user, 1))
		second = append(second, s.come(user, node))
	}
	if err := s.connected(append(first, second...)); err != nil {
		return err
	}
	if err := s.assemble(calm); err != nil {
		return err
	}
	for _, v := range first {
		v.leave()
	}
	s.wait(max(20*time.Second, s.peer.longest()/4))
	for _, v := range second {
		v.leave()
	}
	s.fails()
	s.see(0, quiet)
	return nil
}

// navigations lets a user go from page to page, on the given nodes in turn. Another user stays.
func navigations(nodes ...int) func(*stage) error {
	return func(s *stage) error {
		all := []*visit{s.come("stays", 1), s.come("walks", nodes[0])}
		if err := s.connected(all); err != nil {
			return err
		}
		if err := s.assemble(calm); err != nil {
			return err
		}
		s.fails()
		v := all[1]
		for i := range 30 {
			s.wait(700 * time.Millisecond)
			v.leave()
			s.wait(300 * time.Millisecond)
			v = s.come("walks", nodes[(i+1)%len(nodes)])
		}
		s.fails()
		s.see(0, quiet)
		return s.connected([]*visit{v})
	}
}
