package handlers

import (
	"net/http"

	"github.com/rollcall-go/rollcall/presence"
)

// beat takes a page's word that it is alive. Any node may take it.
func (h *Handler) beat(w http.ResponseWriter, r *http.Request) error {
	token, err := h.token(w, r)
	if err != nil {
		return err
	}
	ctx, cancel := storeContext(r)
	defer cancel()
	alive, err := h.tracker.Beat(ctx, token, presence.VisitorFromContext(r.Context()).User.ID)
	if err != nil {
		return err
	}
	if !alive {
		return newProblem(http.StatusGone, "This connection has ended. Connect again.")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// goodbye takes a page's goodbye. Whoever says it does not wait for an answer, and
// what the store does not hear now it finds out by itself.
func (h *Handler) goodbye(w http.ResponseWriter, r *http.Request) error {
	token, err := h.token(w, r)
	if err != nil {
		return err
	}
	ctx, cancel := storeContext(r)
	defer cancel()
	_ = h.tracker.Leave(ctx, token, presence.VisitorFromContext(r.Context()).User.ID)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// token returns the connection that a body names. Of the types of a body,
// navigator.sendBeacon gives a string text/plain.
func (h *Handler) token(w http.ResponseWriter, r *http.Request) (presence.Token, error) {
	body, err := h.body(w, r)
	if err != nil {
		return "", err
	}
	const example = `{"connection":"…"}`
	var said struct {
		Connection presence.Token `json:"connection"`
	}
	if err := decodeJSON(r, body, &said, example, "application/json", "text/plain"); err != nil {
		return "", err
	}
	if said.Connection == "" {
		return "", notExpected(example)
	}
	return said.Connection, nil
}
