package readers

import (
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/hist"
)

// Reset makes all counts begin at nothing. With window, the readers acknowledge
// what they have.
func (s *Set) Reset(window bool, _ *struct{}) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.count, c.sum, c.bytes, c.states, c.diffs = 0, 0, 0, 0, 0
	}
	s.lag, s.min, s.ended = hist.Hist{}, 0, 0
	s.reached = nil
	if window {
		s.reached = make([]int, 1<<12)
	}
	return nil
}

// Expect is what every healthy reader should have got since the last reset.
// Where there are several topics, reader n is of topic n modulo their number.
type Expect struct {
	Count []int
	Sum   []uint64
	Wait  time.Duration // without any news, at most
}

// A Report is what the healthy readers got.
type Report struct {
	Readers   int
	Delivered int // changes, of all readers together
	Missing   int
	Extra     int
	Wrong     int // readers with the right number and the wrong changes
	Ended     int // connections that the server ended
	Bytes     int
	States    int
	Diffs     int
	Last      time.Time // when the latest bytes came
	Lag       hist.Hist
	Tail      string
}

// Wait waits until the readers have what is expected, or nothing comes any
// more, and reports.
func (s *Set) Wait(e Expect, r *Report) error {
	begin := time.Now()
	for {
		s.mu.Lock()
		*r = s.report(e)
		last := s.last
		s.mu.Unlock()
		if last.Before(begin) {
			last = begin
		}
		if r.Missing == 0 || time.Since(last) > e.Wait {
			return nil
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (s *Set) report(e Expect) Report {
	r := Report{Readers: s.healthy, Ended: s.ended, Last: s.last, Lag: s.lag, Missing: s.ended * slices.Max(e.Count)}
	for _, c := range s.conns {
		if c.tail != nil {
			r.Tail = string(c.tail)
		}
		if c.stalled {
			continue
		}
		r.Delivered += c.count
		r.Bytes += c.bytes
		r.States += c.states
		r.Diffs += c.diffs
		topic := c.n % len(e.Count)
		r.Missing += max(0, e.Count[topic]-c.count)
		r.Extra += max(0, c.count-e.Count[topic])
		if c.count == e.Count[topic] && c.sum != e.Sum[topic] {
			r.Wrong++
		}
	}
	return r
}

// Close closes all connections.
func (s *Set) Close(_ struct{}, _ *struct{}) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		s.remove(c)
	}
	return nil
}
