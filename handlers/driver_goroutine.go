package handlers

import (
	"context"
	"errors"
	"os"
	"time"
)

// A line is how bytes leave the machine for a stream that has a goroutine.
type line interface {
	// write sends b, all of it, before it returns. It fails when the client has
	// gone, or does not take it within the write deadline.
	write(b []byte) error
}

// attend drives a stream until it is over: a goroutine for what no shard can
// drive. What the client says comes over said, which is closed when it has gone.
func (s *stream) attend(ctx context.Context, to line, said <-chan []byte) {
	gone, ready := ctx.Done(), s.conn.Ready() // which receives when conn ends, too
	due := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var why error
	for why == nil {
		now := time.Now()
		if why = s.over(now); why != nil {
			break
		}
		if !s.tell(to, now) {
			return
		}
		// A timer that is early only finds that there is nothing to do, so it is
		// left alone as long as something happens.
		if next := s.next(now); next.Before(due) || !due.After(now) {
			due = next
			timer.Reset(time.Until(due))
		}
		select {
		case <-gone:
			why = errStops
		case p, ok := <-said:
			if !ok {
				return
			}
			why = s.listen(p)
		case <-ready:
		case <-timer.C:
		}
	}
	s.conn.Close() // parting may take a moment
	s.send(to, s.farewell(why))
}

// tell writes what has come up, and reports whether that was taken. A stream that
// waits holds no batch.
func (s *stream) tell(to line, now time.Time) bool {
	b := s.h.batch()
	defer s.h.release(b)
	out, _ := s.turn(now, b)
	return len(out) == 0 || s.send(to, out) == nil
}

// over returns why the stream ends now, if it does.
func (s *stream) over(now time.Time) error {
	switch {
	case s.conn.Err() != nil:
		return s.conn.Err()
	case s.aged(now):
		return errAge
	case s.checks(now) && !s.h.rights.allowed(s.visit, s.silence.topics()...):
		return errRight
	}
	return nil
}

// listen hears what came, and runs its errands here.
func (s *stream) listen(p []byte) error {
	e, err := s.hear(p, time.Now())
	for ; e != nil; e, err = s.hear(nil, time.Now()) {
		e()()
	}
	return err
}

// send writes, and counts. Whoever has not taken what was written in time is too
// slow.
func (s *stream) send(to line, b []byte) error {
	c := &s.h.counters
	c.behind.Add(1)
	err := to.write(b)
	c.behind.Add(-1)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.slowCut.Add(1)
	}
	if err == nil {
		c.bytes.Add(uint64(len(b)))
	}
	return err
}
