package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// A problem is an error that is written for the visitor: problem details as in
// RFC 9457. Nothing else of an error ever reaches one.
type problem struct {
	Type   string `json:"type"`
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`

	header map[string]string // goes with it; nil: none
}

func (p *problem) Error() string { return p.Detail }

func newProblem(status int, detail string) *problem {
	return &problem{Type: "about:blank", Status: status, Title: http.StatusText(status), Detail: detail}
}

func (p *problem) with(header, value string) *problem {
	if p.header == nil {
		p.header = make(map[string]string)
	}
	p.header[header] = value
	return p
}

func badRequest(detail string) *problem { return newProblem(http.StatusBadRequest, detail) }
func forbidden(detail string) *problem  { return newProblem(http.StatusForbidden, detail) }
func notFound(detail string) *problem   { return newProblem(http.StatusNotFound, detail) }

func methodNotAllowed(methods []string) *problem {
	allow := strings.Join(methods, ", ")
	return newProblem(http.StatusMethodNotAllowed, "This path answers "+allow+".").with("Allow", allow)
}

func again(status, seconds int, detail string) *problem {
	return newProblem(status, detail).with("Retry-After", strconv.Itoa(seconds))
}

// problemOf says to the visitor what err means, and reports whether it is one of
// those that are expected.
func problemOf(err error) (p *problem, expected bool) {
	if errors.As(err, &p) {
		return p, true
	}
	storeOut := again(http.StatusServiceUnavailable, 5, "Who is online is not known right now. Try again later.")
	for _, known := range []struct {
		err     error
		problem *problem
	}{
		{presence.ErrInvalidTopic, badRequest("A topic is 1 to 128 bytes of A-Z a-z 0-9 _ - . and the colon.")},
		{presence.ErrInvalidUser, badRequest("A user id is 1 to 128 bytes of UTF-8 without control characters.")},
		{presence.ErrInvalidStatus, badRequest("A status is online, away, busy or invisible.")},
		{ErrTooMany, again(http.StatusTooManyRequests, 1, "The status was changed too often. Wait a second.")},
		{presence.ErrTooManyTopics, badRequest("The request names more topics than are allowed here.")},
		{presence.ErrTooManyConnections, again(http.StatusTooManyRequests, 10, "Too many streams are open. Close one, or try again later.")},
		{presence.ErrClosed, again(http.StatusServiceUnavailable, 1, "This server is about to stop. Try again.")},
		{presence.ErrStoreOut, storeOut},
		{context.DeadlineExceeded, storeOut},
		{context.Canceled, storeOut}, // nobody reads it
	} {
		if errors.Is(err, known.err) {
			return known.problem, true
		}
	}
	return storeOut, false // what is none of ours came out of the store
}

// explain says to the visitor what err means. If that is not all there is to
// say, the rest is logged.
func (h *Handler) explain(err error) *problem {
	p, expected := problemOf(err)
	if !expected {
		h.tracker.Config().Logger.Error("presence: a request failed", "error", err)
	}
	return p
}

// fail answers a request that could not be served. Nothing has been written yet.
func (h *Handler) fail(w http.ResponseWriter, err error) {
	p := h.explain(err)
	h.count(p)
	for header, value := range p.header {
		w.Header().Set(header, value)
	}
	body, _ := json.Marshal(p) // strings and a number: it cannot fail
	w.Header().Set("Cache-Control", "no-store")
	writeBody(w, "application/problem+json", p.Status, body)
}

// count counts a refusal.
func (h *Handler) count(p *problem) {
	switch p.Status {
	case http.StatusTooManyRequests:
		h.counters.limited.Add(1)
	case http.StatusRequestEntityTooLarge, http.StatusRequestHeaderFieldsTooLarge:
		h.counters.tooLarge.Add(1)
	}
}
