package handlers

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Why a stream ends, beside the reasons of its connection.
var (
	errSlow  = errors.New("the client reads too slowly: reconnect")
	errAge   = errors.New("the stream has reached its age: reconnect")
	errRight = errors.New("a topic of the stream may no longer be seen")
	errStops = errors.New("this server is shutting down")
)

// eventWelcome opens a stream. It belongs to the connection; other events belong to a
// topic.
const eventWelcome presence.EventType = "welcome"

// A stream carries the events of one connection. It decides what to write and when. A driver writes it: a
// goroutine of the stream's own (run), or a shard that drives thousands. Only the driver calls the methods.
type stream struct {
	transport
	streams *streams
	request keptRequest
	conn    *track.Connection

	admission   admission
	ofTransport *atomic.Int64 // counts the open streams of its transport

	heartbeat  time.Duration
	grace      time.Duration
	lastEvents lastEvents
	recheck    recheck   // of the visitor's rights
	rights     chan bool // brings the site's answer to a goroutine that drives the stream; nil in a shard
	stirAt     time.Time // when the page gets the next nudge: see stirs
	endAt      time.Time // when the stream ends at the latest; zero: never
	welcomed   bool
	notes      *notes // for welcome; nil: none
	beats      bool   // the page may send beats
	auto       bool   // the page said beat=auto
	pongs      *pongs // of a WebSocket with beat=auto; otherwise nil

	owed      []byte     // answers to the client, to be written before events
	unhandled []byte     // input after a message with an errand
	watches   perSecond  // counts the lists of people from a WebSocket
	lateWatch []byte     // the last list of people beyond the limit; nil: none
	snapshots *snapshots // states that the client asked for lately; nil: none
	unpaid    bool       // the next output has a state that the client asked for
}

// newStream returns the stream of a connection that was opened just now.
func (ss *streams) newStream(r keptRequest, conn *track.Connection, o streamOptions, over transport) *stream {
	now := time.Now()
	s := &stream{transport: over, streams: ss, request: r, conn: conn, beats: o.Beat || o.auto, auto: o.auto, watches: perSecond{limit: maxWatches}, unpaid: true}
	s.heartbeat, s.grace = conn.Timing()
	if over.proof() == proofPongs && o.auto {
		s.pongs = &pongs{ttl: conn.TTL(), heard: now}
	}
	s.lastEvents = newLastEvents(o.Topics, now)
	s.recheck.at = now.Add(s.heartbeat)
	if age := ss.cfg.MaxStreamAge; age > 0 {
		s.endAt = now.Add(age - age/10 + rand.N(age/5+1))
	}
	if n := o.notes; !n.empty() {
		s.notes = &n
	}
	return s
}

// turn returns all that is new to the client, in one piece. If shared is true, other streams send the same
// bytes, which must not be changed. Otherwise the bytes belong to b. The visitor pays for the states that the
// client asked for, and not for news: they are made already, so what comes next must wait.
func (s *stream) turn(now time.Time, b *batch) (out []byte, shared bool) {
	out, shared = s.news(now, b)
	if s.unpaid && len(out) > 0 {
		s.unpaid = false
		gate.Owes(s.request.context(), gate.Bytes(len(out)))
	}
	return out, shared
}

func (s *stream) news(now time.Time, b *batch) (out []byte, shared bool) {
	if s.snapshots != nil {
		s.sendDueSnapshots(now)
	}
	s.watchLate(now)
	b.bytes = append(b.bytes[:0], s.owed...)
	b.events = b.events[:0]
	s.owed = nil
	if !s.welcomed {
		s.welcomed = true
		b.bytes = s.appendWelcome(b.bytes)
	}
	b.bytes = s.appendStir(s.appendPing(b.bytes, now), now)
	form := s.form()
	made, events, alone := s.conn.Bytes(form)
	if events > 0 {
		if !s.conn.OnlySignals() {
			s.lastEvents.setAll(now)
		}
		s.streams.counters.events.Add(uint64(events))
		if len(b.bytes) == 0 {
			return made, true
		}
		b.bytes = append(b.bytes, made...)
		return b.bytes, false
	}
	if !alone {
		b.events = s.conn.Events(b.events)
		for _, e := range b.events {
			if e.Type != presence.EventSignal {
				s.lastEvents.set(e.Topic, now)
			}
		}
	}
	b.events = s.appendHeartbeats(b.events, now)
	s.streams.counters.events.Add(uint64(len(b.events)))
	for _, e := range b.events {
		b.bytes = form.Append(b.bytes, e)
	}
	return b.bytes, false
}

// pays takes points from the account of the visitor who opened the stream.
func (s *stream) pays(points int) bool { return gate.Pays(s.request.context(), points) }

// close releases everything that the stream holds. The driver calls it once.
func (s *stream) close() {
	s.closeConn(time.Now())
	s.streams.limits.discharge(s.admission)
	s.streams.open.closed(s.ofTransport)
}

// lastBytes returns the owed answers, followed by the reason why the stream ends.
func (s *stream) lastBytes(why error) []byte {
	return s.appendEnd(s.owed, why, s.wait())
}

// aged reports whether the stream has reached its age.
func (s *stream) aged(now time.Time) bool { return !s.endAt.IsZero() && !now.Before(s.endAt) }

// unanswered reports whether the site has not answered in time. The stream ends then.
func (s *stream) unanswered(now time.Time) bool {
	late := s.recheck.late(now)
	if late {
		s.streams.rights.unanswered(s.lastEvents.topics())
	}
	return late
}

// next returns when the stream must be served if no input or event comes before.
func (s *stream) next(now time.Time) time.Time {
	next := s.lastEvents.oldest(now).Add(s.beatsEvery())
	next = earliest(next, s.recheck.next(), s.endAt)
	if s.snapshots != nil {
		next = s.snapshots.next(next)
	}
	if s.lateWatch != nil {
		next = earliest(next, s.lateWatchAt())
	}
	return s.nextStir(s.nextPing(next))
}

// appendHeartbeats appends a heartbeat of each topic that has been silent for as long as a heartbeat takes.
func (s *stream) appendHeartbeats(events []presence.Event, now time.Time) []presence.Event {
	due := now.Add(-s.beatsEvery())
	if s.lastEvents.oldest(now).After(due) {
		return events
	}
	n := len(events)
	events = s.conn.Heartbeats(events)
	quiet := slices.DeleteFunc(events[n:], func(e presence.Event) bool {
		return s.lastEvents.of(e.Topic).After(due)
	})
	s.lastEvents.setQuiet(due, now)
	return events[:n+len(quiet)]
}

// appendWelcome appends the first event. It has no id: a client that loses the stream
// right after it must come back with the cursor that it had before.
func (s *stream) appendWelcome(b []byte) []byte {
	user := s.request.visitor().User
	var beat *float64
	if s.auto {
		every := s.beatEvery().Seconds()
		beat = &every
	}
	data, _ := json.Marshal(struct { // strings and finite numbers: it cannot fail
		Connection presence.Token  `json:"connection"`
		Heartbeat  float64         `json:"heartbeat"` // seconds
		Grace      float64         `json:"grace"`
		Beat       *float64        `json:"beat,omitempty"` // seconds between two beats of a page that said beat=auto; 0: none
		User       presence.UserID `json:"user"`           // the user who reads the stream; empty: a guest
		V          int             `json:"v"`
		Speaks     speech          `json:"speaks"`
		App        string          `json:"app,omitempty"`
		*notes
	}{s.conn.Token(), s.heartbeat.Seconds(), s.grace.Seconds(), beat, user.ID.Local(), track.StreamVersion, speaks, s.streams.cfg.App, s.notes})
	s.notes = nil
	return s.form().Append(s.appendRetry(b, s.wait()), presence.Event{Type: eventWelcome, Data: data})
}

// wait returns how long a client should wait before it reconnects. That is well within the grace, so that its
// user does not leave, and random, so that a thousand clients do not reconnect at once.
func (s *stream) wait() time.Duration {
	wait := min(max(s.grace/5, 100*time.Millisecond), 2*time.Second)
	return wait/2 + rand.N(wait)
}
