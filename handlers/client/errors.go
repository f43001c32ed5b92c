package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"
)

// Why a connection ends, in [Lost].
var (
	// ErrGap: a diff was missing. The next connection begins with a state.
	ErrGap = errors.New("a diff was missed")
	// ErrSilent: nothing came for three heartbeats; the connection is dead.
	ErrSilent = errors.New("the server is silent")
	// ErrTooLarge: an event was larger than Options.MaxEvent.
	ErrTooLarge = errors.New("an event is too large")
	// ErrMalformed: the server sent what is no event of ours.
	ErrMalformed = errors.New("the server sent something else")
)

// A StatusError is an answer that is no stream.
type StatusError struct {
	Status     int           // of HTTP
	Title      string        // what the server says, or the status's text
	Detail     string        // more, where it says more
	RetryAfter time.Duration // when to come back; zero: it does not say
}

// Error implements error.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("the server answers %d %s", e.Status, e.Title)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// final reports whether it would be no use to come again. It would after a 5xx,
// and after what a limit or a proxy says for the moment.
func (e *StatusError) final() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return e.Status < 500
}

// maxProblem bounds what is read of an answer that is no stream, in bytes.
const maxProblem = 64 << 10

// maxRetryAfter bounds how long a server may send us away.
const maxRetryAfter = time.Hour

// check returns nil for an answer that is a stream, and a [StatusError] for
// any other, whose body it closes.
func check(resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && kind == "text/event-stream" {
		return nil
	}
	defer resp.Body.Close()
	e := &StatusError{Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode)}
	switch {
	case resp.StatusCode == http.StatusOK:
		e.Detail = fmt.Sprintf("it is %q and no event stream", kind)
	case kind == "application/problem+json":
		var problem struct{ Title, Detail string }
		if body, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem)); err == nil && json.Unmarshal(body, &problem) == nil {
			e.Title, e.Detail = cmp.Or(problem.Title, e.Title), problem.Detail
		}
	}
	e.RetryAfter = retryAfter(resp.Header.Get("Retry-After"))
	return e
}

// retryAfter reads seconds or a date.
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxRetryAfter.Seconds()))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(time.Until(at), 0), maxRetryAfter)
	}
	return 0
}
