package handlers

import (
	"context"
	"errors"
	"os"
	"time"
)

// A sink takes the output of a stream that has a goroutine.
type sink interface {
	// write sends all of b before it returns. It returns an error after the client has
	// closed, or if the client does not take b within the write deadline.
	write(b []byte) error
}

// run drives a stream until it ends, for the drivers that give it a goroutine. The
// client's input comes over input, which is closed when the client closes.
func (s *stream) run(ctx context.Context, to sink, input <-chan []byte) {
	gone, ready := ctx.Done(), s.conn.Ready() // Ready receives at the end of conn too
	due := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var why error
	for why == nil {
		now := time.Now()
		if why = s.reasonToEnd(now); why != nil {
			break
		}
		if !s.writeTurn(to, now) {
			return
		}
		// A timer that fires too early costs one idle round. So it is set again only
		// if it has to fire sooner, or has fired.
		if next := s.next(now); next.Before(due) || !due.After(now) {
			due = next
			timer.Reset(time.Until(due))
		}
		select {
		case <-gone:
			why = errStops
		case p, ok := <-input:
			if !ok {
				return
			}
			why = s.receiveAll(p)
		case <-ready:
		case <-timer.C:
		}
	}
	s.closeConn(time.Now()) // at once: the write below may take a moment
	s.send(to, s.lastBytes(why))
}

// writeTurn writes what is new, and reports whether the client took it. A stream that
// waits holds no batch.
func (s *stream) writeTurn(to sink, now time.Time) bool {
	b := s.streams.batches.get()
	defer s.streams.batches.put(b)
	out, _ := s.turn(now, b)
	if len(out) > 0 && s.send(to, out) != nil {
		return false
	}
	s.conn.Written()
	return true
}

// reasonToEnd returns why the stream ends now, or nil.
func (s *stream) reasonToEnd(now time.Time) error {
	switch {
	case s.conn.Err() != nil:
		return s.conn.Err()
	case s.silent(now):
		return errLost
	case s.aged(now):
		return errAge
	case s.checks(now) && !s.streams.rights.allowed(s.request, s.lastEvents.topics()...):
		return errRight
	}
	return nil
}

// receiveAll handles input, and runs its errands in the calling goroutine.
func (s *stream) receiveAll(p []byte) error {
	e, err := s.receive(p, time.Now())
	for ; e != nil; e, err = s.receive(nil, time.Now()) {
		e()()
		s.hear(time.Now()) // nothing was read while the errand ran
	}
	return err
}

// send writes and counts the bytes. If the client does not take them in time, it counts as slow.
func (s *stream) send(to sink, b []byte) error {
	c := s.streams.counters
	c.behind.Add(1)
	err := to.write(b)
	c.behind.Add(-1)
	switch {
	case err == nil:
		c.bytes.Add(uint64(len(b)))
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.slowCut.Add(1)
	default:
		c.failed.Add(1)
	}
	return err
}
