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
	s.rights = make(chan bool, 1)
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
			var gone bool
			if why, gone = s.receiveAll(p, input); gone {
				return
			}
		case ok := <-s.rights:
			s.rights <- ok // for reasonToEnd
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

// reasonToEnd returns why the stream ends now, or nil. It asks the site about the visitor's rights when that is due. The
// answer comes over s.rights, and the stream goes on meanwhile.
func (s *stream) reasonToEnd(now time.Time) error {
	select {
	case ok := <-s.rights: // an answer that is there has come in time
		if s.recheck.answered(); !ok {
			return errRight
		}
	default:
	}
	switch {
	case s.conn.Err() != nil:
		return s.conn.Err()
	case s.silent(now):
		return errLost
	case s.aged(now):
		return errAge
	case s.unanswered(now):
		return errRight
	case s.recheck.begins(now, s.heartbeat):
		// No stream asks again before it has the answer, so there is room for it.
		s.streams.rights.ask(s.request, s.lastEvents.topics(), func(ok bool) { s.rights <- ok })
	}
	return nil
}

// receiveAll handles input and runs its errands, one after another. gone is true if the client has closed
// meanwhile, or if an errand panicked. An error ends the stream.
func (s *stream) receiveAll(p []byte, input <-chan []byte) (why error, gone bool) {
	e, err := s.receive(p, time.Now())
	for ; e != nil; e, err = s.receive(nil, time.Now()) {
		after := s.await(e, input)
		if after == nil {
			return nil, true
		}
		after()
		s.hear(time.Now())
	}
	return err, false
}

// maxHeld is about how much input is kept while an errand runs. A client that sends more is not noticed to
// close before the errand is done.
const maxHeld = 4 << 10

// await runs an errand, and keeps the input that comes meanwhile. It returns nil if the client closes, or if the
// errand panics. As in a shard, an errand goes on after the client has closed.
//
// Example: Redis does not answer, and Alice's page subscribes to thread:1. A moment later she closes the page. Her
// grace begins then, and not two seconds later when the subscription gives up.
func (s *stream) await(e errand, input <-chan []byte) (after func()) {
	done := make(chan func(), 1)
	go func() { done <- e.run(s.streams.faults) }()
	for {
		select {
		case after = <-done:
			return after
		case p, ok := <-input:
			if !ok {
				return nil
			}
			if s.unhandled = append(s.unhandled, p...); len(s.unhandled) > maxHeld {
				input = nil
			}
		}
	}
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
