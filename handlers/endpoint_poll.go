package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Waits of a poll, in seconds. Proxies give up on an answer after a minute.
const (
	defaultPollWait = 25
	maxPollWait     = 55
)

// poll answers with the events since the cursor of the previous answer. If there are none, it waits for some.
// Each poll is a connection of its own. While it waits it holds its user online; between two polls the user
// stays for the grace.
func (ss *streams) poll(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	q := ss.posted(w, r, v)
	options, err := ss.connectOptions(q)
	if err != nil {
		return err
	}
	options.Beat, options.auto = false, false // a poll that waits proves that its page is alive
	options.PullStanding = true               // signals that already stood are no news: otherwise a poll would never wait
	wait := time.Duration(q.number("wait", maxPollWait, defaultPollWait)) * time.Second
	if q.err != nil {
		return q.err
	}
	if _, err := keepRequest(r); err != nil { // the same limit as for streams
		return err
	}
	in, err := ss.limits.admit(r, v)
	if err != nil {
		return err
	}
	defer ss.limits.discharge(in)
	options.Observed = ss.site.observed(wholeRequest(r), v)
	options.Identified = presence.IdentifiedAt(r.Context())
	conn, err := ss.connect(r, &options)
	if err != nil {
		return err
	}
	defer conn.Close()
	ss.counters.poll.Add(1)
	defer ss.counters.poll.Add(-1)
	// A deadline that passes while the poll waits would end it over HTTP/2. A writer that collects answers has no
	// deadlines, but works for a poll.
	_ = unbound(w)

	b := ss.batches.get()
	defer ss.batches.put(b)
	b.events = news(r.Context(), conn, b.events, beforeTimeout(r.Context(), wait))
	ss.cfg.boundAnswer(w, r)
	if err := ss.pollAnswer(r, conn, options, b); err != nil {
		return err
	}
	gate.Owes(r.Context(), gate.Bytes(len(b.bytes)))
	ss.counters.events.Add(uint64(len(b.events)))
	ss.counters.bytes.Add(uint64(len(b.bytes)))
	w.Header().Set("Cache-Control", liveControl)
	writeBody(w, "application/json", http.StatusOK, b.bytes)
	conn.Written()
	return nil
}

// pollAnswer makes the answer with the events of a batch. It returns an error if the visitor has lost the
// right to see the topics while the poll waited.
func (ss *streams) pollAnswer(r *http.Request, conn *track.Connection, o streamOptions, b *batch) error {
	lost, err := ss.lostTopics(r, o)
	if err != nil {
		return err
	}
	for _, topic := range lost {
		conn.Unsubscribe(topic) // the cursor must not move past events that are left out
	}
	b.events = slices.DeleteFunc(b.events, func(e presence.Event) bool { return slices.Contains(lost, e.Topic) })
	cursor, heartbeats := conn.Cursor(), conn.Heartbeats(nil)
	if len(lost) > 0 && conn.Err() != nil { // after the end of the connection, Unsubscribe does nothing
		cursor, b.events, heartbeats = o.Cursor, b.events[:0], nil
	} else {
		b.events = appendStanding(b.events, conn)
	}
	o.Refused = append(slices.Clip(o.Refused), localTopics(lost)...)
	for _, events := range [][]presence.Event{b.events, heartbeats} {
		for i, e := range events {
			events[i].Data = o.types.read(e)
		}
	}
	b.bytes = appendPoll(b.bytes, cursor, b.events, heartbeats, ss.pollNotes(o))
	return nil
}

// pollNotes returns the notes for the client that go with the events. The first answer names the site's build.
func (ss *streams) pollNotes(o streamOptions) *notes {
	n := o.notes
	if o.Cursor == "" {
		n.App = ss.cfg.App
	}
	return &n
}

// appendStanding appends the signals that stand, including those that stood before the poll came: the client
// may have missed them between two polls. It leaves out events that the poll has already.
func appendStanding(events []presence.Event, conn *track.Connection) []presence.Event {
	n := len(events)
	for _, e := range conn.Standing(nil) {
		told := slices.ContainsFunc(events[:n], func(was presence.Event) bool {
			return was.Type == presence.EventSignal && bytes.Equal(was.Data, e.Data)
		})
		if !told {
			events = append(events, e)
		}
	}
	return events
}

// beforeTimeout shortens a wait that would end after the request's context, or just before: otherwise a
// timeout middleware would answer instead of the poll.
func beforeTimeout(ctx context.Context, wait time.Duration) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return wait
	}
	left := time.Until(end)
	return min(wait, left-min(time.Second, left/2))
}

// lostTopics asks the site again which topics the visitor may see. For a partial poll it returns the topics
// that were lost, or an error if none is left. For any other poll one lost topic is an error.
func (ss *streams) lostTopics(r *http.Request, o streamOptions) (lost []presence.Topic, err error) {
	if o.partial {
		if lost = ss.rights.lost(wholeRequest(r), o.Topics); len(lost) < len(o.Topics) {
			return lost, nil
		}
	} else if ss.rights.allowed(wholeRequest(r), o.Topics...) {
		return nil, nil
	}
	return nil, errForbidden()
}

// news waits for events, and appends them. It leaves out heartbeats: if only guests come
// and go, the answer is empty.
func news(ctx context.Context, conn *track.Connection, events []presence.Event, wait time.Duration) []presence.Event {
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
		case <-conn.Done(): // the client polls again, perhaps on another node or as another user
			return events
		case <-ctx.Done():
			return events
		}
	}
}

// appendPoll appends an answer: the events, a heartbeat of each topic with its present
// figures, and the notes.
func appendPoll(b []byte, cursor presence.Cursor, events, heartbeats []presence.Event, n *notes) []byte {
	b = append(b, `{"cursor":"`...) // cursors need no escaping
	b = append(b, cursor...)
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
	for i, e := range heartbeats {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, e.Data...)
	}
	b = append(b, ']')
	if !n.empty() {
		more, _ := json.Marshal(n) // strings: it cannot fail
		b = append(append(b, ','), more[1:len(more)-1]...)
	}
	return append(b, '}')
}
