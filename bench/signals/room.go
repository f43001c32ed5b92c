package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rollcall-go/rollcall/bench/internal/frames"
	"github.com/rollcall-go/rollcall/bench/internal/hist"
)

// A member is one connection: it reads the room, and may say words.
type member struct {
	socket
	n       int
	rest    []byte // of the latest read, if a mark may go on behind it
	frames  *frames.Reader
	clock   int // how many words it has said
	answers int // bytes that came
	signals int // frames of signals since the last reset
}

// A room is all members. One goroutine reads for all of them, and parses as little as it can.
type room struct {
	peer    *peer
	members []*member
	epoll   int
	ended   chan struct{}

	mu    sync.Mutex
	byFD  map[int]*member
	stop  bool
	count tally
	last  time.Time // when the latest bytes came
	lost  int       // connections that the server ended
}

// A tally is what came to the members since the last reset.
type tally struct {
	Words, Changes int // of others
	Bytes, Frames  int
	MostSignals    int // frames of Rollcall's signals of one member
	WordLag        hist.Hist
	ChangeLag      hist.Hist
}

const dialers = 8

// enter opens the connections of n members, spread over the nodes, and returns once nothing
// more comes.
func enter(p *peer, nodes []*node, n int) (*room, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	r := &room{peer: p, members: make([]*member, n), epoll: epoll, byFD: make(map[int]*member), ended: make(chan struct{})}
	go r.run()
	errs := make(chan error, dialers)
	var wg sync.WaitGroup
	for d := range dialers {
		wg.Go(func() {
			for i := d; i < n; i += dialers {
				if err := r.open(nodes[i%len(nodes)].addr, i); err != nil {
					errs <- fmt.Errorf("member %d: %w", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		r.close()
		return nil, err
	default:
	}
	if !r.settle(500*time.Millisecond, 30*time.Second) {
		r.close()
		return nil, errors.New("the room does not come to rest")
	}
	return r, nil
}

func (r *room) open(addr string, n int) error {
	s, rest, err := r.peer.open(addr, n)
	if err != nil {
		return err
	}
	m := &member{socket: s, n: n, rest: rest, answers: len(rest)}
	if !r.peer.sse {
		m.frames = &frames.Reader{}
		m.frames.Add(rest)
	}
	unix.SetNonblock(int(s), true)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members[n], r.byFD[int(s)] = m, m
	return unix.EpollCtl(r.epoll, unix.EPOLL_CTL_ADD, int(s), &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(s)})
}

// settle waits until something came to each member, and nothing more for a while.
func (r *room) settle(quiet, most time.Duration) bool {
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		r.mu.Lock()
		calm := time.Since(r.last) > quiet && !slices.ContainsFunc(r.members, func(m *member) bool { return m.answers == 0 })
		r.mu.Unlock()
		if calm {
			return true
		}
	}
	return false
}

// signalsKey is in each event of Rollcall's signals.
var signalsKey = []byte(`"signals":[`)

const readMost = 256 << 10

func (r *room) run() {
	defer close(r.ended)
	events := make([]unix.EpollEvent, 256)
	buf := make([]byte, markSize+readMost)
	for {
		n, err := unix.EpollWait(r.epoll, events, 50)
		if err != nil && err != unix.EINTR {
			return
		}
		r.mu.Lock()
		if r.stop {
			r.mu.Unlock()
			return
		}
		for _, e := range events[:max(n, 0)] {
			if m := r.byFD[int(e.Fd)]; m != nil {
				r.read(m, buf)
			}
		}
		r.mu.Unlock()
	}
}

// read takes what came to a member. The caller holds mu.
func (r *room) read(m *member, buf []byte) {
	kept := copy(buf, m.rest)
	n, err := unix.Read(int(m.socket), buf[kept:])
	now := time.Now()
	if err == unix.EAGAIN || err == unix.EINTR {
		return
	}
	if err != nil || n <= 0 {
		r.lost++
		delete(r.byFD, int(m.socket))
		m.Close()
		return
	}
	r.last = now
	r.count.Bytes += n
	m.answers += n
	if m.frames != nil {
		began, pings := m.frames.Add(buf[kept : kept+n])
		r.count.Frames += began
		for _, ping := range pings {
			m.Write(frames.Client(frames.Pong, ping))
		}
	}
	all := buf[:kept+n]
	m.signals += bytes.Count(all, signalsKey)
	read := scan(all, func(mark byte, at int64, from int) {
		lag := time.Duration(now.UnixNano() - at)
		switch {
		case from == m.n:
		case mark == wordMark:
			r.count.Words++
			r.count.WordLag.Add(lag)
		default:
			r.count.Changes++
			r.count.ChangeLag.Add(lag)
		}
	})
	m.rest = append(m.rest[:0], all[read:]...)
}

// reset lets all counts begin at nothing.
func (r *room) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count = tally{}
	for _, m := range r.members {
		m.signals = 0
	}
}

// total returns what came since the last reset, and an error if a server ended a connection.
func (r *room) total() (tally, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.count
	for _, m := range r.members {
		t.MostSignals = max(t.MostSignals, m.signals)
	}
	if r.lost > 0 {
		return t, fmt.Errorf("the server ended %d connections", r.lost)
	}
	return t, nil
}

func (r *room) words() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count.Words
}

// say lets a member say a word.
func (r *room) say(n int) error {
	m := r.members[n]
	m.clock++
	return r.peer.say(m, time.Now())
}

func (r *room) close() {
	r.mu.Lock()
	r.stop = true
	r.mu.Unlock()
	<-r.ended
	for fd, m := range r.byFD {
		delete(r.byFD, fd)
		m.Close()
	}
	unix.Close(r.epoll)
}
