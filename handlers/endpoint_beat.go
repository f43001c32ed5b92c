package handlers

import (
	"errors"
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
	by := presence.VisitorFromContext(r.Context())
	beat := h.tracker.Beat
	if said.Joined {
		beat = h.tracker.Follow
	}
	alive, err := beat(ctx, said.Connection, by)
	if errors.Is(err, presence.ErrForeignToken) || err == nil && !alive {
		return gone()
	}
	if err != nil {
		return err
	}
	if said.Idle != nil {
		_ = h.tracker.Attend(said.Connection, by, *said.Idle) // Beat has judged the token
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// gone answers a token whose connection is not there, or that was made elsewhere:
// the page connects again in either case.
func gone() error { return newProblem(http.StatusGone, "This connection has ended. Connect again.") }

// goodbye takes a page's goodbye. Whoever says it does not wait for an answer, and
// what the store does not hear now it finds out by itself.
func (h *Handler) goodbye(w http.ResponseWriter, r *http.Request) error {
	said, err := h.said(w, r)
	if err != nil {
		return err
	}
	ctx, cancel := storeContext(r)
	defer cancel()
	err = h.tracker.Leave(ctx, said.Connection, presence.VisitorFromContext(r.Context()))
	if errors.Is(err, presence.ErrForeignToken) {
		return gone()
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// A word is what a page says of its connection.
type word struct {
	Connection presence.Token `json:"connection"`
	Idle       *bool          `json:"idle"`   // whether nobody is at the page; nil: it does not say
	Joined     bool           `json:"joined"` // the page has just been viewed, and joined this connection
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
