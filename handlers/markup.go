package handlers

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A stream as markup is for pages with htmx or Turbo, which want HTML and no
// events of ours. It says the widget, whole, at first and whenever its topic has
// changed: at once after a quiet moment, and else once in markupPace, since a
// widget is larger than a diff by far.
const markupPace = time.Second

// A look is how a topic's messages look.
type look struct {
	turbo bool
	named bool   // after the topic, where a stream has several
	query string // of the request for the widget
}

// newLook reads what a request says of it. Parameters that are none of the
// stream's are the widget's.
func newLook(q url.Values, topics []presence.Topic) (look, error) {
	as := q.Get("as")
	if as != "html" && as != "turbo" {
		return look{}, badRequest("The parameter as is html or turbo. Without it, a stream comes as events.")
	}
	widget := url.Values{}
	for name, values := range q {
		switch name {
		case "as", "topic", "stream", "cursor", "limit", "observe", "beat":
		default:
			widget[name] = values
		}
	}
	turbo := as == "turbo" // which looks for the place by itself
	return look{turbo: turbo, named: len(topics) > 1 && !turbo, query: widget.Encode()}, nil
}

// openMarkup opens a stream of topics as HTML, and returns what drives it.
func (h *Handler) openMarkup(w http.ResponseWriter, r *http.Request, q url.Values, options presence.ConnectOptions) (run func(), err error) {
	l, err := newLook(q, options.Topics)
	if err != nil {
		return nil, err
	}
	options.Beat = false // nothing on the page would send them
	for _, topic := range options.Topics {
		if answer := h.ask(r, topic, l); answer.status != http.StatusOK {
			w.Header().Del("X-Accel-Buffering")
			answer.copyTo(w)
			return nil, nil
		}
	}
	s, err := h.open(r, options, new(sse), &h.counters.sse)
	if err != nil {
		return nil, err
	}
	return func() {
		defer s.close()
		to := h.newResponse(w, r)
		w.WriteHeader(http.StatusOK)
		if s.send(to, s.retry(nil, s.wait())) == nil {
			s.say(r, to, l)
		}
	}, nil
}

// say drives a stream as markup until it is over.
func (s *stream) say(r *http.Request, to line, l look) {
	var n changed
	var due, spoke time.Time // when something may be said, and was
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := time.Now()
		if why := s.over(now); why != nil {
			s.send(to, s.farewell(why))
			return
		}
		n.gather(s.conn)
		var out []byte
		if len(n.topics) > 0 && !now.Before(due) {
			out = s.appendMarkup(out, r, n.topics, l)
			n.topics, due = nil, now.Add(markupPace)
		}
		if len(out) == 0 && now.Sub(spoke) >= s.heartbeat {
			out = append(out, ":\n\n"...) // a comment, to see whether anybody is there
		}
		if len(out) > 0 {
			if s.send(to, out) != nil {
				return
			}
			spoke = now
		}
		next := earliest(s.check, s.end, spoke.Add(s.heartbeat))
		if len(n.topics) > 0 {
			next = earliest(next, due)
		}
		timer.Reset(time.Until(next))
		select {
		case <-r.Context().Done():
			return
		case <-s.conn.Done():
		case <-s.conn.Ready():
		case <-timer.C:
		}
	}
}

// changed are the topics that have changed, and of which that was not said yet.
type changed struct {
	topics []presence.Topic
	begun  bool
	events []presence.Event
}

func (n *changed) gather(conn *presence.Connection) {
	n.events = conn.Events(n.events[:0])
	for _, e := range n.events {
		if !n.begun && repeats(e) || slices.Contains(n.topics, e.Topic) {
			continue
		}
		n.topics = append(n.topics, e.Topic)
	}
	n.begun = n.begun || len(n.events) > 0
	clear(n.events) // or they would hold on to their data
}

// repeats reports whether an event, the first of a topic, says what the page shows:
// who comes back and has missed nothing is told the figures of now, which matter
// where the store is out.
func repeats(e presence.Event) bool {
	var figures struct{ Stale bool }
	json.Unmarshal(e.Data, &figures) // of the tracker: it cannot fail
	return e.Type == presence.EventHeartbeat && !figures.Stale
}

// earliest returns the first of some moments; one that is zero is none.
func earliest(moments ...time.Time) (first time.Time) {
	for _, t := range moments {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

// appendMarkup appends a message for each topic. One that cannot be rendered now
// is left out: the page keeps what it has.
func (s *stream) appendMarkup(b []byte, r *http.Request, topics []presence.Topic, l look) []byte {
	ctx, cancel := storeContext(r)
	defer cancel()
	for i, topic := range topics {
		view, err := s.h.tracker.View(ctx, topic)
		if err != nil {
			continue
		}
		message, ok := s.h.message(r, view, l)
		if !ok {
			continue
		}
		if i == len(topics)-1 {
			b = append(b, "id: "...)
			if !view.Stale { // else none: who comes back is told when that is over
				b = append(b, s.conn.Cursor()...)
			}
			b = append(b, '\n')
		}
		b = append(b, message...)
		s.h.counters.events.Add(1)
	}
	return b
}

// message returns what all readers of a view are told, and false where the widget
// cannot be rendered. It is rendered once, by whoever comes first.
func (h *Handler) message(r *http.Request, view *presence.View, l look) (message []byte, ok bool) {
	h.rendering.Lock()
	defer h.rendering.Unlock()
	if message, ok = h.messages.get(view, l); ok {
		return message, true
	}
	answer := h.ask(r, view.Topic, l)
	if answer.status != http.StatusOK {
		return nil, false
	}
	message = appendMessage(nil, view.Topic, l, answer.body.String())
	h.messages.put(view, l, message, len(message))
	return message, true
}

// oneBreak leaves the one line break that Server-Sent Events and the lines below
// agree on.
var oneBreak = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// appendMessage appends a widget as one message: unnamed, for htmx's sse-swap="message"
// and Turbo, or named after its topic.
func appendMessage(b []byte, topic presence.Topic, l look, widget string) []byte {
	if l.turbo {
		// The places are found by the topic, whose bytes need no escaping. Morphing
		// leaves alone what is the same, and the focus in it.
		widget = `<turbo-stream action="replace" method="morph" targets="whos-online[topic='` + string(topic) + `']"><template>` +
			widget + `</template></turbo-stream>`
	}
	if l.named {
		b = append(append(append(b, "event: "...), topic...), '\n')
	}
	for line := range strings.SplitSeq(oneBreak.Replace(widget), "\n") {
		b = append(append(append(b, "data: "...), line...), '\n')
	}
	return append(b, '\n')
}

// ask asks Config.Widget for a topic's widget, as a guest would of whom nothing
// is known: what it answers is for all.
func (h *Handler) ask(r *http.Request, topic presence.Topic, l look) *answer {
	query, _ := url.ParseQuery(l.query) // encoded by newLook
	query.Set("topic", string(topic))
	guest := presence.ContextWithVisitor(r.Context(), presence.Visitor{})
	req := (&http.Request{
		Method: http.MethodGet, URL: &url.URL{Path: "/widget", RawQuery: query.Encode()},
		Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
		Header: make(http.Header), Body: http.NoBody, Host: r.Host, RemoteAddr: r.RemoteAddr,
	}).WithContext(guest)
	a := &answer{header: make(http.Header)}
	if h.cfg.Widget == nil {
		h.fail(a, notFound("This site has no widget here."))
	} else {
		h.cfg.Widget.ServeHTTP(a, req)
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a
}

// An answer is kept in memory.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// copyTo answers with it.
func (a *answer) copyTo(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	w.Write(a.body.Bytes())
}
