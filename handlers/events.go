package handlers

import (
	"net/http"
	"net/url"

	"github.com/rollcall-go/rollcall/presence"
)

// events streams topics as Server-Sent Events.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) error {
	q, err := parseQuery(r)
	if err != nil {
		return err
	}
	options, err := h.connectOptions(r, q)
	if err != nil {
		return err
	}
	// A client that comes back by itself repeats the URL of its first request, so
	// the header is the newer word.
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		options.Cursor = presence.Cursor(id)
	}
	to, err := newSSE(w, r, h.cfg.WriteDeadline)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		to.open()
		return nil
	}
	leave, err := h.admit(r)
	if err != nil {
		return err
	}
	defer leave()
	conn, err := h.tracker.Connect(r.Context(), options)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer opened(&h.counters.sse)()
	to.open()
	h.newStream(r, conn, options.Topics, to).run(r.Context())
	return nil
}

// connectOptions returns what a stream's request asks for. The visitor may see
// every topic in it.
func (h *Handler) connectOptions(r *http.Request, q url.Values) (o presence.ConnectOptions, err error) {
	o.Visitor = presence.VisitorFromContext(r.Context())
	cursors := make([]presence.Cursor, len(q["cursor"]))
	for i, c := range q["cursor"] {
		cursors[i] = presence.Cursor(c)
	}
	o.Cursor = presence.JoinCursors(cursors...)
	if o.Topics, err = h.topics(r, q, h.tracker.Config().TopicsPerConnection, "topic", "stream"); err != nil {
		return o, err
	}
	if o.Limit, err = h.limit(q); err != nil {
		return o, err
	}
	if o.Observe, err = flag(q, "observe"); err != nil {
		return o, err
	}
	o.Beat, err = flag(q, "beat")
	return o, err
}
