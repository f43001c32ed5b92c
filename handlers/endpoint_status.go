package handlers

import (
	"net/http"

	"github.com/rollcall-go/rollcall/presence"
)

// status sets the visitor's own status in every topic.
func (cs *choices) status(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	body, err := readBody(w, r, cs.cfg.MaxBody)
	if err != nil {
		return err
	}
	var want statusRequest
	if err := decodeJSON(body, &want, `{"status":"away"}`); err != nil {
		return err
	}
	ctx, cancel := storeContext(r)
	defer cancel()
	if err := cs.setStatus(ctx, v, want); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
