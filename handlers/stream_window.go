package handlers

import (
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// maxAlsoInQuery is how many users a query may name in also. More go into a body.
const maxAlsoInQuery = 60

// window returns the part of each roster that a request asks for; the zero Window: all of it.
func (q *query) window() (w track.Window) {
	w.Users = q.number("window", track.MaxWindow, 0)
	named := slices.Concat(q.Values["also"], q.form["also"])
	switch {
	case !q.Has("window") && len(named) > 0:
		q.bad("The parameter also goes with window.")
	case !q.Has("window"):
	case q.Has("limit"):
		q.bad("A stream has a window or a limit, and not both.")
	case q.Has("as"):
		q.bad("A stream of HTML has no window.")
	default:
		_, err := distinctIDs(q.visitor, q.Values["also"], maxAlsoInQuery)
		if err == nil {
			w.Also, err = distinctIDs(q.visitor, named, track.MaxAlso)
		}
		if err == presence.ErrTooManyPeople {
			err = badRequest("At most 60 users in also fit into a query, and 500 into the form of POST /events.")
		}
		q.fail(err)
	}
	return w
}

// hiddenHeartbeat is how often a hidden page gets a heartbeat.
const hiddenHeartbeat = time.Minute

// beatsEvery returns how long a topic may be silent before a heartbeat.
func (s *stream) beatsEvery() time.Duration {
	if s.conn.Hidden() {
		return hiddenHeartbeat
	}
	return s.heartbeat
}

// stirs reports whether the page gets nudges: it is hidden, and it sends beats. Browsers slow down the timers
// of such pages, so that beats come too late. A nudge makes the script check whether a beat is due.
func (s *stream) stirs() bool {
	return s.transport.proof() == proofBeats && s.auto && s.conn.Hidden()
}

// appendStir appends a nudge if one is due.
func (s *stream) appendStir(b []byte, now time.Time) []byte {
	if !s.stirs() || now.Before(s.stirAt) {
		return b
	}
	s.stirAt = now.Add(s.beatEvery())
	return s.appendNudge(b)
}

// nextStir returns when the next nudge is due, but not after next.
func (s *stream) nextStir(next time.Time) time.Time {
	if s.stirs() && s.stirAt.Before(next) {
		return s.stirAt
	}
	return next
}

// hide handles a client's report that its page is hidden or visible.
func (s *stream) hide(hidden flag) {
	if !hidden.said {
		s.reply(badRequest(`The message is {"type":"hidden","hidden":true}, or false.`))
		return
	}
	s.conn.Hide(hidden.is)
}

// A flag is a field of JSON that is true, false or left out.
type flag struct{ said, is bool }

// UnmarshalJSON implements [json.Unmarshaler].
func (f *flag) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		f.is = true
	case "false":
		f.is = false
	default:
		return badRequest("A flag is true or false.")
	}
	f.said = true
	return nil
}

// pointer returns the value; nil if the field was left out.
func (f flag) pointer() *bool {
	if !f.said {
		return nil
	}
	return &f.is
}
