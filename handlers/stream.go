package handlers

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Why a stream ends, beside what ends its connection.
var (
	errAge   = errors.New("the stream is old: come back and be identified again")
	errRight = errors.New("a topic of the stream may not be seen any more")
	errStops = errors.New("this server stops")
)

// eventWelcome opens a stream. It is of the connection, as all others are of a
// topic.
const eventWelcome presence.EventType = "welcome"

// A stream carries the events of one connection. It knows what is to be said,
// and when; who drives it writes that: a goroutine of its own (attend), or a
// shard that drives thousands. The methods are for the driver alone.
type stream struct {
	speech
	h     *Handler
	visit visit
	conn  *presence.Connection

	silence   silence
	heartbeat time.Duration
	welcomed  bool
	beats     bool      // the page said that it would beat
	check     time.Time // when the visitor's rights are checked next
	answerBy  time.Time // when the site must have said whether it may go on; zero: it was not asked
	end       time.Time // when it is over at the latest; zero: never

	transport *atomic.Int64 // counts it among those of its transport
	admitted  admitted
	answers   []byte     // owed to the client, before anything else
	unread    []byte     // came while an errand was under way
	asked     *snapshots // states that the client asked for lately; nil: none
}

// newStream returns the stream of a connection that was opened just now.
func (h *Handler) newStream(v visit, conn *presence.Connection, o presence.ConnectOptions, says speech) *stream {
	now := time.Now()
	s := &stream{speech: says, h: h, visit: v, conn: conn, beats: o.Beat, heartbeat: h.tracker.Config().Heartbeat()}
	s.silence = newSilence(o.Topics, now)
	s.check = now.Add(s.heartbeat)
	if age := h.cfg.MaxStreamAge; age > 0 {
		s.end = now.Add(age - age/10 + rand.N(age/5+1))
	}
	return s
}

// turn returns all that has come up, in one piece: in b, or, if shared, bytes
// that must not be changed and that others send too.
func (s *stream) turn(now time.Time, b *batch) (out []byte, shared bool) {
	if s.asked != nil {
		s.snapshotsDue(now)
	}
	b.bytes = append(b.bytes[:0], s.answers...)
	b.events = b.events[:0]
	s.answers = nil
	if !s.welcomed {
		s.welcomed = true
		b.bytes = s.appendWelcome(b.bytes)
	}
	form := s.form()
	made, events, alone := s.conn.Bytes(form)
	if events > 0 {
		s.silence.broken(now)
		s.h.counters.events.Add(uint64(events))
		if len(b.bytes) == 0 {
			return made, true
		}
		b.bytes = append(b.bytes, made...)
		return b.bytes, false
	}
	if !alone {
		b.events = s.conn.Events(b.events)
		for _, e := range b.events {
			s.silence.brokenIn(e.Topic, now)
		}
	}
	b.events = s.appendHeartbeats(b.events, now)
	s.h.counters.events.Add(uint64(len(b.events)))
	for _, e := range b.events {
		b.bytes = form.Append(b.bytes, e)
	}
	return b.bytes, false
}

// close gives back what was taken for the stream. Its driver calls it once.
func (s *stream) close() {
	s.conn.Close()
	s.h.leave(s.admitted)
	s.h.streams.leave(s.transport)
}

// farewell returns the last word.
func (s *stream) farewell(why error) []byte {
	return s.bye(s.answers, why, s.wait())
}

// aged reports whether the stream has reached its age.
func (s *stream) aged(now time.Time) bool { return !s.end.IsZero() && !now.Before(s.end) }

// checks reports whether the visitor's rights are to be checked now. It says so once
// a heartbeat.
func (s *stream) checks(now time.Time) bool {
	if now.Before(s.check) {
		return false
	}
	s.check = now.Add(s.heartbeat)
	return true
}

// next returns when the stream has something to do, if nothing happens before.
func (s *stream) next(now time.Time) time.Time {
	next := s.silence.longest(now).Add(s.heartbeat)
	check := s.check
	if !s.answerBy.IsZero() {
		check = s.answerBy
	}
	if check.Before(next) {
		next = check
	}
	if !s.end.IsZero() && s.end.Before(next) {
		next = s.end
	}
	if s.asked != nil {
		next = s.asked.next(next)
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
	cfg, user := s.h.tracker.Config(), presence.VisitorFromContext(s.visit.bare.Context()).User
	data, _ := json.Marshal(struct { // a string and finite numbers: it cannot fail
		Connection presence.Token  `json:"connection"`
		Heartbeat  float64         `json:"heartbeat"` // seconds
		Grace      float64         `json:"grace"`
		User       presence.UserID `json:"user"` // who follows; empty: a guest
	}{s.conn.Token(), s.heartbeat.Seconds(), cfg.Grace.Seconds(), user.ID})
	return s.form().Append(s.retry(b, s.wait()), presence.Event{Type: eventWelcome, Data: data})
}

// wait returns how long a client should wait before it comes back: well within
// the grace, so that nobody sees it leave, and each another time, so that a
// thousand do not come at once.
func (s *stream) wait() time.Duration {
	wait := min(max(s.h.tracker.Config().Grace/5, 100*time.Millisecond), 2*time.Second)
	return wait/2 + rand.N(wait)
}
