package handlers

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
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

// maxWidgetQuery bounds the parameters of a stream that are the widget's, in bytes.
const maxWidgetQuery = 256

// newLook reads what a request says of it. Parameters that are none of the
// stream's are the widget's, as far as the site has named them: each other would be
// rendered, and kept, for its own sake.
func (h *Handler) newLook(q url.Values, topics []presence.Topic) (look, error) {
	as := q.Get("as")
	if as != "html" && as != "turbo" {
		return look{}, badRequest("The parameter as is html or turbo. Without it, a stream comes as events.")
	}
	widget := url.Values{}
	size := 0
	for name, values := range q {
		switch name {
		case "as", "topic", "stream", "cursor", "limit", "observe", "beat", "idle", "me":
			continue
		}
		if !slices.Contains(h.cfg.WidgetParams, name) || len(values) > 1 {
			return look{}, badRequest("Of the parameters of the widget, a stream takes these, each once: " + strings.Join(h.cfg.WidgetParams, ", ") + ".")
		}
		if size += len(name) + len(values[0]); size > maxWidgetQuery {
			return look{}, badRequest("The parameters of the widget have more than " + strconv.Itoa(maxWidgetQuery) + " bytes.")
		}
		widget[name] = values
	}
	turbo := as == "turbo" // which looks for the place by itself
	return look{turbo: turbo, named: len(topics) > 1 && !turbo, query: widget.Encode()}, nil
}

// openMarkup opens a stream of topics as HTML, and returns what drives it. A stream
// whose widget cannot be rendered is refused with the widget's answer, before anybody
// is recorded.
func (h *Handler) openMarkup(w http.ResponseWriter, r *http.Request, q url.Values, options presence.ConnectOptions) (run func(), err error) {
	l, err := h.newLook(q, options.Topics)
	if err != nil {
		return nil, err
	}
	if h.cfg.Widget == nil {
		return nil, notFound("This site has no widget here.")
	}
	options.Beat = false // nothing on the page would send them
	var refusal *answer
	s, err := h.openAfter(r, options, new(sse), &h.counters.sse, func() error {
		refusal, err = h.tryMarkup(r, options.Topics, l)
		return err
	})
	if refusal != nil {
		w.Header().Del("X-Accel-Buffering")
		refusal.copyTo(w)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return func() {
		defer s.close()
		defer h.rescue()
		to := h.newResponse(w, r)
		w.WriteHeader(http.StatusOK)
		if s.send(to, s.retry(nil, s.wait())) == nil {
			s.say(r, to, l)
		}
	}, nil
}

// errRefused: the widget has answered with its own refusal.
var errRefused = errors.New("the widget refuses")

// tryMarkup has the widget rendered for each topic. It returns an error where that
// fails, beside the widget's answer if there is one.
func (h *Handler) tryMarkup(r *http.Request, topics []presence.Topic, l look) (refusal *answer, err error) {
	ctx, cancel := siteContext(r.Context())
	defer cancel()
	for _, topic := range topics {
		view, err := h.tracker.View(ctx, topic)
		if err != nil {
			return nil, err
		}
		message, answer := h.widgets.message(ctx, view, l)
		switch {
		case message != nil:
		case answer != nil:
			return answer, errRefused
		default:
			return nil, again(http.StatusServiceUnavailable, 5, "The widget could not be rendered in time. Try again later.")
		}
	}
	return nil, nil
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
	ctx, cancel := siteContext(r.Context())
	defer cancel()
	for i, topic := range topics {
		view, err := s.h.tracker.View(ctx, topic)
		if err != nil {
			continue
		}
		message, _ := s.h.widgets.message(ctx, view, l)
		if message == nil {
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
