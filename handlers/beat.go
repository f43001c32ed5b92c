package handlers

import (
	"net/http"

	"github.com/rollcall-go/rollcall/presence"
)

// beat takes a page's word that it is alive. Any node may take it.
func (h *Handler) beat(w http.ResponseWriter, r *http.Request) error {
	said, err := h.said(w, r)
	if err != nil {
		return err
	}
	ctx, cancel := storeContext(r)
	defer cancel()
	user := presence.VisitorFromContext(r.Context()).User.ID
	alive, err := h.tracker.Beat(ctx, said.Connection, user)
	if err != nil {
		return err
	}
	if !alive {
		return newProblem(http.StatusGone, "This connection has ended. Connect again.")
	}
	if said.Idle != nil {
		h.tracker.Attend(said.Connection, user, *said.Idle)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// goodbye takes a page's goodbye. Whoever says it does not wait for an answer, and
// what the store does not hear now it finds out by itself.
func (h *Handler) goodbye(w http.ResponseWriter, r *http.Request) error {
	said, err := h.said(w, r)
	if err != nil {
		return err
	}
	ctx, cancel := storeContext(r)
	defer cancel()
	_ = h.tracker.Leave(ctx, said.Connection, presence.VisitorFromContext(r.Context()).User.ID)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// A word is what a page says of its connection.
type word struct {
	Connection presence.Token `json:"connection"`
	Idle       *bool          `json:"idle"` // whether nobody is at the page; nil: it does not say
}

// said returns the word that a body holds. Of the types of a body,
// navigator.sendBeacon gives a string text/plain.
func (h *Handler) said(w http.ResponseWriter, r *http.Request) (word, error) {
	var said word
	body, err := h.body(w, r)
	if err != nil {
		return said, err
	}
	const example = `{"connection":"…"}`
	if err := decodeJSON(body, &said, example); err != nil {
		return said, err
	}
	if said.Connection == "" {
		return said, notExpected(example)
	}
	return said, nil
}
