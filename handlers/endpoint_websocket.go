package handlers

import (
	"net/http"

	"github.com/rollcall-go/rollcall/presence"
)

// ws streams topics over a WebSocket. A bad request gets an ordinary answer, before the
// connection turns into a WebSocket.
func (h *Handler) ws(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	if err := checkHandshake(r); err != nil {
		return err
	}
	q, err := h.query(r, v)
	if err != nil {
		return err
	}
	options, err := h.connectOptions(q)
	if err != nil {
		return err
	}
	if err := h.clearDeadline(w, "ws", "WebSocket"); err != nil {
		return err
	}
	if !hijacks(w) {
		return h.collected(lastWriter(w), "ws", "WebSocket")
	}
	over := &socket{as: options.types.form(formSocket), frames: frameReader{maxMessage: h.cfg.MaxBody, rate: window{limit: h.cfg.MaxRate}}}
	if h.cfg.people && v.SignedIn() {
		over.frames.maxList = maxPeopleMessage
	}
	s, err := h.openStream(r, options, over, &h.counters.socket)
	if err != nil {
		return err
	}
	s.owed = headSocket(w.Header(), r)
	if err := s.hijack(w, r); err != nil {
		s.conn.Drop() // its user was never there
		s.close()
		return h.collected(w, "ws", "WebSocket")
	}
	return nil
}
