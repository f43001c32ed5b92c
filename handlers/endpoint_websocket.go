package handlers

import (
	"net/http"
)

// ws streams topics over a WebSocket. What is wrong with the request is answered
// as ever, before the connection turns into one.
func (h *Handler) ws(w http.ResponseWriter, r *http.Request) error {
	if err := checkHandshake(r); err != nil {
		return err
	}
	q, err := parseQuery(r)
	if err != nil {
		return err
	}
	options, err := h.connectOptions(r, q)
	if err != nil {
		return err
	}
	if err := clearDeadline(http.NewResponseController(w)); err != nil {
		return err
	}
	says := &socket{frames: frameReader{most: h.cfg.MaxBody, rate: window{most: h.cfg.MaxRate}}}
	s, err := h.open(r, options, says, &h.counters.socket)
	if err != nil {
		return err
	}
	s.answers = headSocket(w.Header(), r)
	if err := s.hijack(w, r); err != nil {
		s.conn.Drop() // it never began
		s.close()
		return newProblem(http.StatusInternalServerError, "WebSocket does not work here: something before this handler keeps the connection.")
	}
	return nil
}
