package handlers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
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

// hijacked is the line of a connection that net/http has given away.
type hijacked struct {
	conn     net.Conn
	deadline time.Duration // of one write; negative: none
}

func (l *hijacked) write(b []byte) error {
	if l.deadline > 0 {
		l.conn.SetWriteDeadline(time.Now().Add(l.deadline))
	}
	_, err := l.conn.Write(b)
	if err != nil {
		abort(l.conn) // what was written may end within a frame
	}
	return err
}

// attendHijacked drives a stream over a connection that net/http has given away,
// of which it had read something already, and closes it.
func (s *stream) attendHijacked(ctx context.Context, conn net.Conn, sent []byte) {
	defer conn.Close()
	defer s.h.rescue()
	control(conn, bound)
	said, over, heard := make(chan []byte), make(chan struct{}), make(chan struct{})
	go func() {
		defer s.h.rescue()
		defer close(heard)
		defer close(said)
		b := make([]byte, 1<<10)
		for p := sent; ; {
			if len(p) > 0 {
				select {
				case said <- p:
				case <-over:
					return
				}
			}
			n, err := conn.Read(b)
			if err != nil {
				return
			}
			p = bytes.Clone(b[:n])
		}
	}()
	func() {
		defer close(over)
		s.attend(ctx, &hijacked{conn: conn, deadline: s.h.cfg.WriteDeadline}, said)
	}()

	// What the client still sends is read until it closes too: if it were left
	// unread, its network would throw away our last word.
	conn.SetReadDeadline(time.Now().Add(partTime))
	<-heard
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	io.Copy(io.Discard, conn)
}
