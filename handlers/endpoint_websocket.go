package handlers

import (
	"net/http"

	"github.com/rollcall-go/rollcall/presence"
)

// ws streams topics over a WebSocket. A bad request gets an ordinary answer, before the connection becomes a
// WebSocket.
func (ss *streams) ws(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	r = untimed(r)
	if err := checkHandshake(r); err != nil {
		return err
	}
	options, err := ss.connectOptions(ss.site.query(r, v))
	if err != nil {
		return err
	}
	if err := ss.clearDeadline(w, "ws", "WebSocket"); err != nil {
		return err
	}
	if !hijacks(w) {
		return ss.collected(lastWriter(w), "ws", "WebSocket")
	}
	over := &socket{as: options.types.form(formSocket), frames: frameReader{maxMessage: ss.cfg.MaxBody, rate: perSecond{limit: ss.cfg.MaxRate}}}
	if ss.cfg.people && v.SignedIn() {
		over.frames.maxList = maxPeopleMessage
	}
	s, err := ss.openStream(r, options, over, &ss.counters.socket)
	if err != nil {
		return err
	}
	s.owed = headSocket(w.Header(), r)
	if err := s.hijack(w); err != nil {
		s.conn.Drop() // the page got no stream, so its user was never there
		s.close()
		return ss.collected(w, "ws", "WebSocket")
	}
	return nil
}
