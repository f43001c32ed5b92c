package handlers

import (
	"errors"
	"time"
)

// A page that said beat=auto is alive as long as it beats, or over a WebSocket as long as its client answers.
// The server pings a client that sent nothing for a third of the TTL. A client that stays silent for 8/9 of
// the TTL is lost: its user is gone a TTL after the last message, as if beats had stopped
// (track.Connection.Lost).

// errLost ends a WebSocket whose client does not answer.
var errLost = errors.New("the client does not answer")

// longestBeat is the longest time from one beat of a page to the next.
const longestBeat = 20 * time.Second

// beatEvery returns how often the page of a stream with beat=auto beats; 0: not at all. One lost beat does no
// harm, because the next one comes in time.
func (s *stream) beatEvery() time.Duration {
	if s.pongs != nil {
		return 0
	}
	return min(longestBeat, s.conn.TTL()*4/9).Truncate(time.Millisecond)
}

// pongs is the state of a client that must answer pings.
type pongs struct {
	ttl    time.Duration
	heard  time.Time // when the client last sent something
	pinged bool      // a ping was sent since heard
	last   time.Time // when the client counts as lost; zero: it has been silent for less than 7/9 of the TTL
}

// hear notes that something came from the client.
func (s *stream) hear(now time.Time) {
	if p := s.pongs; p != nil {
		p.heard, p.pinged, p.last = now, false, time.Time{}
	}
}

// appendPing appends a ping if one is due.
func (s *stream) appendPing(b []byte, now time.Time) []byte {
	p := s.pongs
	if p == nil || p.pinged || now.Before(p.heard.Add(p.ttl/3)) {
		return b
	}
	p.pinged = true
	return s.appendNudge(b)
}

// silent reports whether the client is lost. If the server itself was stopped, it first reads what came
// meanwhile: the client has another ninth of the TTL from the moment at which its silence is noticed.
func (s *stream) silent(now time.Time) bool {
	p := s.pongs
	switch {
	case p == nil || now.Before(p.heard.Add(p.ttl*7/9)):
		return false
	case p.last.IsZero():
		p.last = now.Add(p.ttl / 9)
		return false
	}
	return !now.Before(p.last)
}

// nextPing returns when a ping, or the end of the stream, is due, but not after the given moment.
func (s *stream) nextPing(next time.Time) time.Time {
	p := s.pongs
	if p == nil {
		return next
	}
	due := p.heard.Add(p.ttl / 3)
	switch {
	case !p.last.IsZero():
		due = p.last
	case p.pinged:
		due = p.heard.Add(p.ttl * 7 / 9)
	}
	if due.Before(next) {
		return due
	}
	return next
}

// closeConn ends the connection. The user stays for the grace, unless the client has been silent since a ping.
func (s *stream) closeConn(now time.Time) {
	if p := s.pongs; p != nil && now.Sub(p.heard) > p.ttl/2 {
		s.conn.Lost(p.heard)
		return
	}
	s.conn.Close()
}
