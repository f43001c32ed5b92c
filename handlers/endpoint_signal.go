package handlers

import (
	"net/http"

	"github.com/rollcall-go/rollcall/presence"
)

// signal sends a visitor's signal to all readers of a topic.
func (ws *whispers) signal(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	if err := ws.site.query(r, v).mine(); err != nil {
		return err
	}
	if !v.SignedIn() {
		return errGuestSignals()
	}
	body, err := readBody(w, r, ws.cfg.MaxBody)
	if err != nil {
		return err
	}
	s, err := ws.read(v, body, false)
	if err != nil {
		return err
	}
	if ws.site.permit(ws.site.lists, r, v, s.topic) != nil {
		return errNoSignal()
	}
	if err := ws.send(r.Context(), v, s); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
