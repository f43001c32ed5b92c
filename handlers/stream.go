package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A transport knows how frames look and how they leave the machine. The stream
// knows everything else.
type transport interface {
	// frame appends one event to b, without an id where that is empty.
	frame(b []byte, event presence.EventType, id presence.Cursor, data []byte) []byte
	// retry appends how long the client should wait, once this stream has
	// ended, before it comes back. A frame follows.
	retry(b []byte, wait time.Duration) []byte
	// write sends b, all of it, before it returns. It fails when the client has
	// gone, or does not take it within the write deadline.
	write(b []byte) error
	// bye sends the last word: why the stream ends, and how long the client
	// should wait before it comes back. Whether the client hears that matters to
	// nobody but itself.
	bye(why error, wait time.Duration)
}

// Why a stream ends, beside what ends its connection.
var (
	errAge   = errors.New("the stream is old: come back and be identified again")
	errRight = errors.New("a topic of the stream may not be seen any more")
)

// eventWelcome opens a stream. It is of the connection, as all others are of a
// topic.
const eventWelcome presence.EventType = "welcome"

// A stream carries the events of one connection over one transport.
type stream struct {
	h    *Handler
	r    *http.Request
	conn *presence.Connection
	to   transport
	said <-chan []byte // messages of the client; nil where it cannot speak

	silence   silence
	heartbeat time.Duration
	welcomed  bool
	check     time.Time // when the visitor's rights are checked next
	end       time.Time // when it is over at the latest; zero: never
}

// newStream returns the stream of a connection that was opened just now.
func (h *Handler) newStream(r *http.Request, conn *presence.Connection, topics []presence.Topic, to transport) *stream {
	now := time.Now()
	s := &stream{h: h, r: r, conn: conn, to: to, heartbeat: h.tracker.Config().Heartbeat()}
	s.silence = newSilence(topics, now)
	s.check = now.Add(s.heartbeat)
	if age := h.cfg.MaxAge; age > 0 {
		s.end = now.Add(age - age/10 + rand.N(age/5+1))
	}
	return s
}

// run carries events until the client has gone or it is time to end. A stream
// that we end says why, and when to come back.
func (s *stream) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := time.Now()
		if why := s.over(now); why != nil {
			s.to.bye(why, s.wait())
			return
		}
		if s.turn(now) != nil {
			return
		}
		timer.Reset(time.Until(s.next(now)))
		select {
		case <-ctx.Done():
			return
		case <-s.conn.Done():
			s.to.bye(s.conn.Err(), s.wait())
			return
		case message := <-s.said:
			s.hear(ctx, message)
		case <-s.conn.Ready():
		case <-timer.C:
		}
	}
}

// turn writes all that has come up, in one piece.
func (s *stream) turn(now time.Time) error {
	b := s.h.batch()
	defer s.h.release(b)
	b.events = s.conn.Events(b.events)
	for _, e := range b.events {
		s.silence.broken(e.Topic, now)
	}
	b.events = s.appendHeartbeats(b.events, now)
	if !s.welcomed {
		s.welcomed = true
		b.bytes = s.appendWelcome(b.bytes)
	}
	for _, e := range b.events {
		b.bytes = s.to.frame(b.bytes, e.Type, e.ID, e.Data)
	}
	if len(b.bytes) == 0 {
		return nil
	}
	return s.write(len(b.events), b.bytes)
}

// write writes events, and counts them. Whoever has not taken them in time is
// too slow.
func (s *stream) write(events int, b []byte) error {
	counters := &s.h.counters
	counters.behind.Add(1)
	err := s.to.write(b)
	counters.behind.Add(-1)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		counters.slowCut.Add(1)
	case err == nil:
		counters.sent(events, len(b))
	}
	return err
}

// over returns why the stream ends now: it has reached its age, or the visitor
// has lost the right to one of its topics.
func (s *stream) over(now time.Time) error {
	if !s.end.IsZero() && !now.Before(s.end) {
		return errAge
	}
	if now.Before(s.check) {
		return nil
	}
	s.check = now.Add(s.heartbeat)
	if s.h.permit(s.r, s.silence.topics()...) != nil {
		return errRight
	}
	return nil
}

// next returns when the stream has something to do, if nothing happens before.
func (s *stream) next(now time.Time) time.Time {
	next := s.silence.longest(now).Add(s.heartbeat)
	if s.check.Before(next) {
		next = s.check
	}
	if !s.end.IsZero() && s.end.Before(next) {
		next = s.end
	}
	return next
}

// appendHeartbeats appends an event for each topic that was silent for long.
func (s *stream) appendHeartbeats(events []presence.Event, now time.Time) []presence.Event {
	due := now.Add(-s.heartbeat)
	if s.silence.longest(now).After(due) {
		return events
	}
	n := len(events)
	events = s.conn.Heartbeats(events)
	quiet := slices.DeleteFunc(events[n:], func(e presence.Event) bool {
		return s.silence.since(e.Topic).After(due)
	})
	s.silence.brokenSince(due, now)
	return events[:n+len(quiet)]
}

// appendWelcome appends the first event. It carries no id: the client has of its
// topics what it had before, and would take the id for more.
func (s *stream) appendWelcome(b []byte) []byte {
	cfg := s.h.tracker.Config()
	data, _ := json.Marshal(struct { // a string and finite numbers: it cannot fail
		Connection presence.Token `json:"connection"`
		Heartbeat  float64        `json:"heartbeat"` // seconds
		Grace      float64        `json:"grace"`
	}{s.conn.Token(), s.heartbeat.Seconds(), cfg.Grace.Seconds()})
	return s.to.frame(s.to.retry(b, s.wait()), eventWelcome, "", data)
}

// wait returns how long a client should wait before it comes back: well within
// the grace, so that nobody sees it leave, and each another time, so that a
// thousand do not come at once.
func (s *stream) wait() time.Duration {
	wait := min(max(s.h.tracker.Config().Grace/5, 100*time.Millisecond), 2*time.Second)
	return wait/2 + rand.N(wait)
}
