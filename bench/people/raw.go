package main

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// raw is the limit: it knows who follows whom, and writes prepared bytes to each follower,
// one write a delivery.
type raw struct {
	l net.Listener

	mu        sync.Mutex
	online    map[int]string // with the stamp
	followers map[int][]net.Conn
}

func newRaw() (crowdServer, error) {
	s := &raw{online: make(map[int]string), followers: make(map[int][]net.Conn)}
	var err error
	if s.l, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := s.l.Accept()
			if err != nil {
				return
			}
			go s.watch(conn)
		}
	}()
	return s, nil
}

// watch reads whom a connection watches, and writes who of them is online.
func (s *raw) watch(conn net.Conn) {
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var state strings.Builder
	for _, word := range strings.Fields(line) {
		n, _ := strconv.Atoi(word)
		s.followers[n] = append(s.followers[n], conn)
		if at, ok := s.online[n]; ok {
			state.WriteString(joined(n, at))
		}
	}
	fmt.Fprintln(conn, state.String())
}

func joined(person int, at string) string {
	return `{"joins":{"` + personID(person) + `":{"name":"` + at + `","status":"online","since":"2026-11-22T15:30:00.000Z","on":["desktop"]}},"leaves":{}}`
}

func left(person int) string { return `{"joins":{},"leaves":{"` + personID(person) + `":{}}}` }

func (s *raw) addr() string { return s.l.Addr().String() }

func (s *raw) change(person int, comes bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := left(person)
	delete(s.online, person)
	if comes {
		at := stamp()
		s.online[person], text = at, joined(person, at)
	}
	b := []byte(text)
	for _, conn := range s.followers[person] {
		conn.Write(b)
	}
	return nil
}

func (s *raw) read() (hundred, thousand time.Duration) { return 0, 0 }

func openRaw(addr string, _ int, persons []int) (*watcher, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintln(conn, strings.Trim(fmt.Sprint(persons), "[]"))
	return &watcher{conn, scanJSON}, err
}
