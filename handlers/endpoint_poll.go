package handlers

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Waits of a poll, in seconds. Proxies give up on an answer after a minute.
const (
	pollWaitDefault = 25
	pollWaitMost    = 55
)

// poll answers with what has happened since the cursor of the answer before, and
// waits for it a while if that is nothing. Each poll is a connection of its own:
// while it waits it holds its user online, and between two the grace does.
func (h *Handler) poll(w http.ResponseWriter, r *http.Request) error {
	q, err := parseQuery(r)
	if err != nil {
		return err
	}
	options, err := h.connectOptions(r, q)
	if err != nil {
		return err
	}
	options.Beat = false // to wait for an answer is proof of life
	wait, err := pollWait(q)
	if err != nil {
		return err
	}
	v, err := newVisit(r)
	if err != nil {
		return err
	}
	v.whole, v.bare = true, r // it is there anyway
	in, err := h.admit(r)
	if err != nil {
		return err
	}
	defer h.leave(in)
	conn, err := h.tracker.Connect(r.Context(), options)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer opened(&h.counters.poll)()
	clearDeadline(http.NewResponseController(w)) // what collects answers may have this one

	b := h.batch()
	defer h.release(b)
	b.events = news(r.Context(), conn, b.events, wait)
	if !h.rights.allowed(v, options.Topics...) { // it may have been a while
		return errForbidden()
	}
	b.bytes = appendPoll(b.bytes, conn, b.events)
	h.counters.events.Add(uint64(len(b.events)))
	h.counters.bytes.Add(uint64(len(b.bytes)))
	w.Header().Set("Cache-Control", "no-store")
	writeBody(w, "application/json", http.StatusOK, b.bytes)
	return nil
}

// news appends what a client would want to be told at once, and waits for it.
// Heartbeats are no such thing: if only guests come and go, the answer is empty.
func news(ctx context.Context, conn *presence.Connection, events []presence.Event, wait time.Duration) []presence.Event {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		events = slices.DeleteFunc(conn.Events(events), func(e presence.Event) bool { return e.Type == presence.EventHeartbeat })
		if len(events) > 0 {
			return events
		}
		select {
		case <-conn.Ready():
		case <-timer.C:
			return events
		case <-conn.Done(): // the client comes back elsewhere, or as somebody else
			return events
		case <-ctx.Done():
			return events
		}
	}
}

// appendPoll appends an answer: the events, and beside them what a heartbeat of
// each topic would say, so that the figures of quiet times are known as well.
func appendPoll(b []byte, conn *presence.Connection, events []presence.Event) []byte {
	b = append(b, `{"cursor":"`...) // cursors need no escaping
	b = append(b, conn.Cursor()...)
	b = append(b, `","events":[`...)
	for i, e := range events {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"event":"`...)
		b = append(b, e.Type...)
		b = append(b, `","data":`...)
		b = append(b, e.Data...)
		b = append(b, '}')
	}
	b = append(b, `],"heartbeats":[`...)
	for i, e := range conn.Heartbeats(nil) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, e.Data...)
	}
	return append(b, "]}"...)
}

// pollWait returns how long a poll may wait.
func pollWait(q url.Values) (time.Duration, error) {
	seconds := pollWaitDefault
	if q.Has("wait") {
		var err error
		seconds, err = strconv.Atoi(q.Get("wait"))
		if err != nil || seconds < 1 || seconds > pollWaitMost {
			return 0, badRequest("The wait is a number of seconds from 1 to " + strconv.Itoa(pollWaitMost) + ".")
		}
	}
	return time.Duration(seconds) * time.Second, nil
}

// opened counts a connection of a transport, and returns what counts it off.
func opened(n *atomic.Int64) (closed func()) {
	n.Add(1)
	return func() { n.Add(-1) }
}
