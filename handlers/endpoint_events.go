package handlers

import (
	"net/http"
	"net/url"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// events streams topics as Server-Sent Events.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) error {
	run, err := h.openEvents(w, r)
	if run != nil {
		run() // with what opened it gone, a stream waits on a small stack
	}
	return err
}

// openEvents opens the stream that a request asks for, and returns what is left
// to do here until it is over, if anything is.
func (h *Handler) openEvents(w http.ResponseWriter, r *http.Request) (run func(), err error) {
	q, err := parseQuery(r)
	if err != nil {
		return nil, err
	}
	options, err := h.connectOptions(r, q)
	if err != nil {
		return nil, err
	}
	// A client that comes back by itself repeats the URL of its first request, so
	// the header is the newer word.
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		options.Cursor = presence.Cursor(id)
	}
	if err := clearDeadline(http.NewResponseController(w)); err != nil {
		return nil, err
	}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // nginx
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil, nil
	}
	if q.Has("as") {
		return h.openMarkup(w, r, q, options)
	}
	s, err := h.open(r, options, new(sse), &h.counters.sse)
	if err != nil {
		return nil, err
	}
	if hijackable(r) {
		s.answers = headSSE(header)
		if s.hijack(w, r) == nil {
			return nil, nil
		}
		s.answers = nil
	}
	return func() { s.respond(w, r) }, nil
}

// clearDeadline takes the server's own timeout from an answer, which is for
// answers that end. A writer that cannot be told so can neither flush nor be
// hijacked: it collects the whole answer.
func clearDeadline(control *http.ResponseController) error {
	if err := control.SetWriteDeadline(time.Time{}); err != nil {
		return newProblem(http.StatusInternalServerError,
			"Streaming does not work here: something before this handler collects answers, such as a timeout middleware. It must leave this path alone.")
	}
	return nil
}

// connectOptions returns what a stream's request asks for. The visitor may see
// every topic in it. Where the request says whose page it is, nobody else is signed
// in: the page of one user must not follow as another, who came after.
func (h *Handler) connectOptions(r *http.Request, q url.Values) (o presence.ConnectOptions, err error) {
	o.Visitor = presence.VisitorFromContext(r.Context())
	if me := q.Get("me"); me != "" && o.Visitor.SignedIn() && me != string(o.Visitor.User.ID) {
		return o, newProblem(http.StatusUnauthorized, "Somebody else has signed in since this page was loaded. Load it again.")
	}
	cursors := make([]presence.Cursor, len(q["cursor"]))
	for i, c := range q["cursor"] {
		cursors[i] = presence.Cursor(c)
	}
	o.Cursor = presence.JoinCursors(cursors...)
	if o.Topics, err = h.topics(r, q, h.tracker.Config().MaxTopicsPerConnection, "topic", "stream"); err != nil {
		return o, err
	}
	if o.Limit, err = h.limit(q); err != nil {
		return o, err
	}
	if o.Observe, err = flag(q, "observe"); err != nil {
		return o, err
	}
	if o.Idle, err = flag(q, "idle"); err != nil {
		return o, err
	}
	o.Beat, err = flag(q, "beat")
	return o, err
}
