package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// status sets the visitor's own status, in every topic.
func (h *Handler) status(w http.ResponseWriter, r *http.Request) error {
	body, err := h.body(w, r)
	if err != nil {
		return err
	}
	var want struct {
		Status string `json:"status"`
	}
	if err := decodeJSON(body, &want, `{"status":"away"}`); err != nil {
		return err
	}
	ctx, cancel := storeContext(r)
	defer cancel()
	if err := h.setStatus(ctx, presence.VisitorFromContext(r.Context()), want.Status); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// setStatus sets a visitor's status, as a request or a message names it.
func (h *Handler) setStatus(ctx context.Context, visitor presence.Visitor, name string) error {
	if !visitor.SignedIn() {
		return newProblem(http.StatusUnauthorized, "Only a user who is signed in has a status.")
	}
	return h.change(ctx, visitor.User.ID, presence.Status(name))
}

// maxBodyWait bounds how long a body may take, where the server has no ReadTimeout.
const maxBodyWait = 10 * time.Second

// body reads the whole body of a request.
func (h *Handler) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control, timed := http.NewResponseController(w), false
	if server, _ := r.Context().Value(http.ServerContextKey).(*http.Server); server == nil || server.ReadTimeout <= 0 {
		timed = control.SetReadDeadline(time.Now().Add(maxBodyWait)) == nil // else the writer cannot: the body has the server's time
	}
	from := io.Reader(r.Body)
	if h.cfg.MaxBody >= 0 {
		from = http.MaxBytesReader(w, r.Body, h.cfg.MaxBody)
	}
	body, err := io.ReadAll(from)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, newProblem(http.StatusRequestEntityTooLarge, "The body is larger than "+strconv.FormatInt(tooLarge.Limit, 10)+" bytes.")
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, newProblem(http.StatusRequestTimeout, "The body took too long to come.").with("Connection", "close")
	}
	if err != nil {
		return nil, badRequest("The body could not be read to its end.")
	}
	if timed {
		control.SetReadDeadline(time.Time{}) // not after an error: the server reads what is left
	}
	return body, nil
}

// decodeJSON reads a body that is JSON of the kind of an example, whatever its
// Content-Type says: sendBeacon, fetch and curl each call a string something else.
func decodeJSON(body []byte, into any, example string) error {
	if err := json.Unmarshal(body, into); err != nil {
		return notExpected(example)
	}
	return nil
}

func notExpected(example string) *problem {
	return badRequest("The body is not the JSON that is expected here: " + example)
}
