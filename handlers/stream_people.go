package handlers

import (
	"bytes"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
)

// watched reads which people a stream watches, from its query and its body.
func (q *query) watched(o *streamOptions) {
	if q.err != nil || !q.site.cfg.people {
		return
	}
	if _, q.err = distinctIDs(q.visitor, q.Values["person"], maxInQuery); q.err != nil {
		return
	}
	o.People, q.err = distinctIDs(q.visitor, slices.Concat(q.Values["person"], q.form["person"]), presence.MaxWatched)
	if q.err == nil && !gate.Pays(q.request.Context(), len(o.People)*gate.Name) {
		q.err = errTooManyRequests()
	}
	for _, list := range slices.Concat(q.Values["list"], q.form["list"]) {
		if o.Contacts = true; list != "contacts" {
			q.bad("The parameter list is contacts.")
		}
	}
}

const (
	// maxWatches is how many lists of people a client may send within a second: a list costs far more than any
	// other message.
	maxWatches = 5
	// maxWatchHead is the number of bytes within which a message must show that it is a list.
	maxWatchHead = 64
)

// isWatch reports whether a message is a list of people. message may be just the beginning. Only lists may be
// larger than other messages. A list must name its type first, as {"type":"watch","users":[…]} does.
func isWatch(message []byte) bool {
	const head = `{"type":"watch"`
	message = message[:min(len(message), maxWatchHead)]
	for i := range len(head) {
		if i == 0 || head[i-1] == '{' || head[i-1] == ':' || head[i] == ':' {
			message = bytes.TrimLeft(message, " \t\r\n")
		}
		if len(message) == 0 || message[0] != head[i] {
			return false
		}
		message = message[1:]
	}
	return true
}

// defersWatch counts a list of people. If there are too many within a second, or if the visitor cannot pay for
// the people, the list waits for a second and replaces any list that waits already: only the last one counts.
func (s *stream) defersWatch(text []byte, now time.Time) bool {
	s.lateWatch = nil
	if !s.streams.cfg.people {
		return false
	}
	if !s.watches.exceeded(now) {
		if s.pays((bytes.Count(text, []byte(",")) + 1) * gate.Name) {
			return false
		}
		s.watches.begin, s.watches.n = now, s.watches.limit
	}
	s.lateWatch = bytes.Clone(text)
	return true
}

// lateWatchAt returns when the waiting list is due.
func (s *stream) lateWatchAt() time.Time { return s.watches.begin.Add(time.Second) }

// watchLate handles the waiting list, once it is due.
func (s *stream) watchLate(now time.Time) {
	if s.lateWatch != nil && !now.Before(s.lateWatchAt()) {
		s.handle(s.lateWatch, now) // a list needs no errand
	}
}

// watch replaces the list of people whom the stream watches.
func (s *stream) watch(users *[]presence.UserID) error {
	switch {
	case !s.request.visitor().SignedIn():
		return presence.ErrGuest
	case users == nil:
		return badRequest(`A list of people is {"type":"watch","users":["alice","bob"]}.`)
	case !s.lastEvents.has(presence.PeopleTopic.In(s.request.visitor().Tenant)):
		return notSubscribed()
	}
	people, err := distinctIDs(s.request.visitor(), *users, presence.MaxWatched)
	if err != nil {
		return err
	}
	return s.conn.Watch(people)
}

func notSubscribed() *problem.Problem {
	return notFound("This connection is not subscribed to that topic.")
}
