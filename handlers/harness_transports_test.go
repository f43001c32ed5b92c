package handlers_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
)

// A transport is a way to follow topics. All carry the same events.
type transport struct {
	path   string                                        // of its endpoint
	open   func(s *site, r request, at string) *listener // at: a cursor, or empty
	status int                                           // of its answer
}

var (
	overSSE    = transport{"events", (*site).openSSE, 200}
	overSocket = transport{"ws", (*site).openSocket, 101}
	overPoll   = transport{"poll", (*site).openPoll, 200}

	allTransports = []transport{overSSE, overSocket, overPoll}
	streams       = []transport{overSSE, overSocket} // poll is none: it answers, and ends
)

// follow opens a transport for what a query asks for.
func (s *site) follow(over transport, query, user string) *listener {
	s.t.Helper()
	return s.resume(over, query, user, "")
}

// resume opens a transport from a cursor on.
func (s *site) resume(over transport, query, user, cursor string) *listener {
	s.t.Helper()
	return over.open(s, request{path: over.path + "?" + query, user: user}, cursor)
}

// over runs a test over each of some transports.
func over(t *testing.T, transports []transport, test func(t *testing.T, over transport)) {
	for _, tr := range transports {
		t.Run(tr.path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, tr) })
		})
	}
}

// from adds a cursor to a path.
func from(path, cursor string) string {
	if cursor == "" {
		return path
	}
	return path + "&cursor=" + url.QueryEscape(cursor)
}

func (s *site) openSSE(r request, at string) *listener {
	s.t.Helper()
	r.path = from(r.path, at)
	return s.listen(r)
}

func (s *site) openSocket(r request, at string) *listener {
	s.t.Helper()
	r.path = from(r.path, at)
	return s.talk(r).listener
}

func (s *site) openPoll(r request, at string) *listener {
	ctx, cancel := context.WithCancel(s.t.Context())
	p := &pollSource{s: s, r: r, ctx: ctx, cancel: cancel, cursor: at}
	s.t.Cleanup(p.close)
	return &listener{t: s.t, source: p}
}

// pollSource follows by long polls. It begins with a welcome of its own, and an
// empty answer comes as a heartbeat, so that it reads like a stream.
type pollSource struct {
	s      *site
	r      request
	ctx    context.Context
	cancel context.CancelFunc

	cursor   string
	welcomed bool
	queue    []event
	status   int // of the latest answer
}

// An answer is what a poll is answered with.
type answer struct {
	Cursor string
	Events []struct {
		Event string
		Data  payload
	}
	Heartbeats []payload
	Refused    []string
	Warnings   []string
}

func (p *pollSource) close() { p.cancel() }

func (p *pollSource) next() (event, bool) {
	p.s.t.Helper()
	if !p.welcomed {
		p.welcomed = true
		return event{typ: "welcome"}, true
	}
	if len(p.queue) == 0 {
		a, ok := p.poll()
		if !ok {
			return event{}, false
		}
		for _, e := range a.Events {
			p.queue = append(p.queue, event{typ: e.Event, data: e.Data})
		}
		if len(p.queue) == 0 {
			p.queue = []event{{typ: "heartbeat"}}
			if len(a.Heartbeats) > 0 { // none, if a diff came this moment
				p.queue[0].data = a.Heartbeats[0]
			}
		}
		p.cursor = a.Cursor
		p.queue[len(p.queue)-1].id = a.Cursor
	}
	e := p.queue[0]
	p.queue = p.queue[1:]
	return e, true
}

// poll sends one poll, and returns false if it is refused.
func (p *pollSource) poll() (a answer, ok bool) {
	p.s.t.Helper()
	r := p.r
	r.path = from(r.path, p.cursor)
	resp, err := p.s.try(p.ctx, r)
	if err != nil {
		return a, false
	}
	defer resp.Body.Close()
	p.status = resp.StatusCode
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return a, false
	}
	if err := json.Unmarshal(body, &a); err != nil || a.Events == nil || a.Heartbeats == nil {
		p.s.t.Fatalf("got the answer %s (%v), want cursor, events and heartbeats", body, err)
	}
	return a, true
}

// roster is what a client makes of the events of a topic.
type roster struct {
	cursor string
	users  map[string]json.RawMessage
	total  int
}

// take applies an event as a page would, and fails where it does not fit.
func (r *roster) take(t *testing.T, e event) {
	t.Helper()
	switch d := e.data; e.typ {
	case "state":
		r.cursor, r.users, r.total = d.Cursor, maps.Clone(d.Users), d.Total
		return
	case "diff":
		if d.Prev != r.cursor {
			t.Fatalf("got a diff from %s, want it from %s", d.Prev, r.cursor)
		}
		for id, user := range d.Joins {
			if was, ok := r.users[id]; ok && string(was) == string(user) {
				t.Errorf("got a join of %s, who was there and has not changed", id)
			}
			r.users[id] = user
		}
		for id := range d.Leaves {
			if _, ok := r.users[id]; !ok {
				t.Errorf("got a leave of %s, who was not there", id)
			}
			delete(r.users, id)
		}
		r.cursor, r.total = d.Cursor, d.Total
	case "heartbeat":
		if d.Cursor != r.cursor {
			t.Errorf("got a heartbeat at %s, want it at %s", d.Cursor, r.cursor)
		}
	}
	if r.total != len(r.users) {
		t.Errorf("got a total of %d after %s, want %d", r.total, e.typ, len(r.users))
	}
}
