package handlers

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// An HTML stream is for pages with htmx or Turbo. It sends the whole widget, first and
// whenever its topic has changed, but only once in htmlPace, since a widget is far
// larger than a diff.
const htmlPace = time.Second

// An htmlFormat says how to write the messages of a stream.
type htmlFormat struct {
	turbo bool
	named bool   // each message is named after its topic, since the stream has several
	query string // the query of the request for the widget

	// typing: the widget shows the signals that stand in its topic. Other widgets do not change with signals.
	typing bool
}

// formTyping is the form of the widget that shows who is typing.
const formTyping = "typing"

// widgetParams are the parameters of package templates that a stream passes on.
var widgetParams = []string{"form", "max", "figures"}

// maxWidgetQuery bounds the widget's parameters in a stream's request, in bytes.
const maxWidgetQuery = 256

// newHTMLFormat reads the format from a request. The parameters that the stream does not know are the
// widget's. Only widgetParams are allowed, because each combination of values is rendered and cached by
// itself. topics is the number of topics that the request names: a page that reads messages by name does so
// even if all topics but one are refused.
func newHTMLFormat(q url.Values, topics int) (htmlFormat, error) {
	as := q.Get("as")
	if as != "html" && as != "turbo" {
		return htmlFormat{}, badRequest("The parameter as is html or turbo. Without it, a stream comes as events.")
	}
	widget := url.Values{}
	size := 0
	for name, values := range q {
		switch name {
		case "as", "topic", "stream", "cursor", "limit", "observe", "beat", "idle", "me", "partial", "nobeat", "person", "list", "v", "types":
			continue
		}
		if !slices.Contains(widgetParams, name) || len(values) > 1 {
			return htmlFormat{}, badRequest("Of the parameters of the widget, a stream takes these, each once: " + strings.Join(widgetParams, ", ") + ".")
		}
		if size += len(name) + len(values[0]); size > maxWidgetQuery {
			return htmlFormat{}, badRequest("The parameters of the widget have more than " + strconv.Itoa(maxWidgetQuery) + " bytes.")
		}
		widget.Set(name, plainly(name, values[0]))
	}
	turbo := as == "turbo" // Turbo messages name their place themselves
	return htmlFormat{turbo: turbo, named: topics > 1 && !turbo, query: widget.Encode(), typing: widget.Get("form") == formTyping}, nil
}

// plainly returns one spelling for all that mean the same, so that they share a rendering. Other values stay as they
// are, and the widget refuses them.
func plainly(name, value string) string {
	switch name {
	case "max":
		if n, err := strconv.Atoi(value); err == nil {
			return strconv.Itoa(min(max(n, 0), maxLimit))
		}
	case "figures":
		words := strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ',' })
		slices.Sort(words)
		return strings.Join(slices.Compact(words), ",")
	}
	return value
}

// openHTML opens an HTML stream, and returns the function that drives it. If the widget
// cannot be rendered, the stream is refused with the widget's answer, before its user is
// recorded.
func (ss *streams) openHTML(w http.ResponseWriter, r *http.Request, q url.Values, options streamOptions) (run func(), err error) {
	format, err := newHTMLFormat(q, len(options.Topics)+len(options.Refused))
	if err != nil {
		return nil, err
	}
	if ss.cfg.Widget == nil {
		return nil, notFound("This site has no widget here.")
	}
	options.Beat, options.auto = false, false // the page has no script that would send beats
	options.PullStanding = true
	if !gate.Pays(r.Context(), len(options.Topics)*gate.Redrawn) {
		return nil, errTooManyRequests()
	}
	var refusal *recordedAnswer
	var size int
	s, err := ss.openStreamAfter(r, options, new(sse), &ss.counters.sse, func() error {
		if size, refusal, err = ss.widgets.try(r, options.Topics, format); err == nil && !gate.Pays(r.Context(), gate.Bytes(size)) {
			err = errTooManyRequests()
		}
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
		defer ss.faults.recoverStream()
		to := newResponse(w, r, ss.cfg.WriteDeadline)
		w.WriteHeader(http.StatusOK)
		if s.send(to, s.appendRetry(nil, s.wait())) == nil {
			s.runHTML(r, to, format, size)
		}
	}, nil
}

// runHTML drives an HTML stream until it ends. openHTML has paid for the first messages, which have size bytes. Later
// ones are paid for before they are rendered, as if they had as many bytes as those before.
func (s *stream) runHTML(r *http.Request, to sink, format htmlFormat, size int) {
	paid := true
	n := changedTopics{typing: format.typing}
	var due, wrote time.Time // the earliest time for the next message, and the time of the latest one
	timer := time.NewTimer(0)
	defer timer.Stop()
	s.rights = make(chan bool, 1)
	for {
		now := time.Now()
		if why := s.reasonToEnd(now); why != nil {
			s.send(to, s.lastBytes(why))
			return
		}
		n.gather(s.conn)
		var out []byte
		if len(n.topics) > 0 && !now.Before(due) {
			ctx := s.request.context()
			if due = now.Add(htmlPace); paid || gate.Spares(ctx, len(n.topics)*gate.Redrawn+gate.Bytes(size)) {
				out = s.appendHTML(out, r, &n, format)
				gate.Owes(ctx, gate.Bytes(len(out))-gate.Bytes(size))
				n.topics, size, paid = nil, len(out), false
			}
		}
		if len(out) == 0 && now.Sub(wrote) >= s.heartbeat {
			out = append(out, ":\n\n"...) // a comment: the write fails if the client has gone
		}
		if len(out) > 0 {
			if s.send(to, out) != nil {
				return
			}
			wrote = now
		}
		next := earliest(s.recheck.next(), s.endAt, wrote.Add(s.heartbeat))
		if len(n.topics) > 0 {
			next = earliest(next, due)
		}
		timer.Reset(time.Until(next))
		select {
		case <-r.Context().Done():
			return
		case <-s.conn.Done():
		case <-s.conn.Ready():
		case ok := <-s.rights:
			s.rights <- ok // for reasonToEnd
		case <-timer.C:
		}
	}
}

// changedTopics collects the topics that have changed since their last message.
type changedTopics struct {
	topics []presence.Topic
	begun  bool
	typing bool // signals count as changes
	events []presence.Event

	// shown has the latest message of each topic in a stream of typing: most changes of a roster do not change
	// that message.
	shown map[presence.Topic][]byte
}

// gather reads the connection's events.
func (n *changedTopics) gather(conn *track.Connection) {
	n.events = conn.Events(n.events[:0])
	for _, e := range n.events {
		switch {
		case slices.Contains(n.topics, e.Topic):
			continue
		case n.typing: // a page that comes back may still show old signals
		case !n.begun && repeats(e), e.Type == presence.EventSignal:
			continue
		}
		n.topics = append(n.topics, e.Topic)
	}
	n.begun = n.begun || len(n.events) > 0
	clear(n.events) // the events' data must not be kept
}

// shows notes the message of a topic. It reports whether it differs from the one before.
func (n *changedTopics) shows(topic presence.Topic, message []byte) bool {
	if was, ok := n.shown[topic]; ok && bytes.Equal(was, message) {
		return false
	}
	if n.shown == nil {
		n.shown = make(map[presence.Topic][]byte)
	}
	n.shown[topic] = message
	return true
}

// repeats reports whether the first event of a topic brings nothing new. A client that reconnects and has
// missed nothing gets a heartbeat. The page then changes only if the store is unreachable.
func repeats(e presence.Event) bool {
	var figures struct{ Stale bool }
	json.Unmarshal(e.Data, &figures) // the tracker made the data: it cannot fail
	return e.Type == presence.EventHeartbeat && !figures.Stale
}

// earliest returns the earliest of some times. It ignores zero times.
func earliest(moments ...time.Time) (first time.Time) {
	for _, t := range moments {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

// appendHTML appends a message for each topic. It leaves out a topic that cannot be rendered now, and the page
// keeps the old widget.
func (s *stream) appendHTML(b []byte, r *http.Request, n *changedTopics, format htmlFormat) []byte {
	ctx, cancel := siteContext(r.Context())
	defer cancel()
	for i, topic := range n.topics {
		view, err := s.streams.tracker.View(ctx, topic)
		if err != nil {
			continue
		}
		message, _ := s.streams.widgets.message(ctx, view, format)
		if message == nil || n.typing && !n.shows(topic, message) {
			continue
		}
		if i == len(n.topics)-1 {
			b = append(b, "id: "...)
			if !view.Stale { // a stale message has no id: so a client that reconnects gets the widget again when the store is back
				b = append(b, s.conn.Cursor()...)
			}
			b = append(b, '\n')
		}
		b = append(b, message...)
		s.streams.counters.events.Add(1)
	}
	return b
}

// unixBreaks turns each line break that Server-Sent Events know into a newline.
var unixBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// appendMessage appends a widget as one message: unnamed, for htmx's sse-swap="message"
// and Turbo, or named after its topic.
func appendMessage(b []byte, topic presence.Topic, format htmlFormat, widget string) []byte {
	topic = topic.Local()
	if format.turbo {
		// Turbo finds the widgets by their topic, whose bytes need no escaping. Morphing
		// keeps equal elements, and the focus.
		targets := "whos-online[topic='" + string(topic) + "']"
		if format.typing {
			targets = "[data-typing='" + string(topic) + "']"
		}
		widget = `<turbo-stream action="replace" method="morph" targets="` + targets + `"><template>` +
			widget + `</template></turbo-stream>`
	}
	if format.named {
		b = append(append(append(b, "event: "...), topic...), '\n')
	}
	for line := range strings.SplitSeq(unixBreaks.Replace(widget), "\n") {
		b = append(append(append(b, "data: "...), line...), '\n')
	}
	return append(b, '\n')
}
