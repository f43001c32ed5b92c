package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/rollcall-go/rollcall/internal/problem"
)

// Why a connection ends, in [Lost].
var (
	// ErrGap: a diff was missing. The next connection begins with a state.
	ErrGap = errors.New("a diff was missed")
	// ErrSilent: no event arrived for three heartbeats, so the connection is dead.
	ErrSilent = errors.New("the server is silent")
	// ErrTooLarge: an event was larger than Options.MaxEvent.
	ErrTooLarge = errors.New("an event is too large")
	// ErrMalformed: the server sent an event that does not follow the protocol.
	ErrMalformed = errors.New("the server sent a malformed event")
)

// A StatusError is an answer other than a stream.
type StatusError struct {
	Status     int           // the HTTP status
	Title      string        // the title in the answer, or else the text of the status
	Detail     string        // the detail in the answer; "": none
	RetryAfter time.Duration // the wait that the server asks for; zero: none
}

// Error implements error.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("the server answers %d %s", e.Status, e.Title)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// final reports whether another try is useless. Another try may work after a 5xx, and after a status by which
// a limit or a proxy refuses for the moment.
func (e *StatusError) final() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return e.Status < 500
}

// maxProblem bounds how much of an answer other than a stream is read, in bytes.
const maxProblem = 64 << 10

// check returns nil for a stream. For any other answer it closes the body and returns a
// [StatusError].
func check(resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && kind == "text/event-stream" {
		return nil
	}
	defer resp.Body.Close()
	return answerError(resp, kind)
}

// answerError returns the error for an unexpected answer. kind is its media type.
func answerError(resp *http.Response, kind string) *StatusError {
	e := &StatusError{Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode)}
	switch {
	case resp.StatusCode == http.StatusOK:
		e.Detail = fmt.Sprintf("its content type is %q, not text/event-stream", kind)
	case kind == "application/problem+json":
		var said struct{ Title, Detail string }
		if body, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem)); err == nil && json.Unmarshal(body, &said) == nil {
			e.Title, e.Detail = cmp.Or(said.Title, e.Title), said.Detail
		}
	}
	e.RetryAfter = problem.RetryAfter(resp.Header)
	return e
}
