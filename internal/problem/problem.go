// Package problem writes problem details (RFC 9457), the form of all error answers.
package problem

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// A Problem is an error whose text is written for the visitor. No text of any other error
// may reach a visitor.
type Problem struct {
	Type   string `json:"type"`
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`

	Header map[string]string `json:"-"` // of the answer; nil: none
}

// New returns a Problem with the status's own title.
func New(status int, detail string) *Problem {
	return &Problem{Type: "about:blank", Status: status, Title: http.StatusText(status), Detail: detail}
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// With adds a header to the answer, and returns p.
func (p *Problem) With(header, value string) *Problem {
	if p.Header == nil {
		p.Header = make(map[string]string)
	}
	p.Header[header] = value
	return p
}

// Header marks an answer as one of this program: a Problem, or a part of a page. What stands between, such as a
// router, may answer with problem details or HTML too. Its answer lacks the header, so the script asks again.
const Header = "Presence-Answer"

// Write answers with the problem. Nothing may have been written before.
func (p *Problem) Write(w http.ResponseWriter) {
	body, _ := json.Marshal(p) // strings and a number: it cannot fail
	h := w.Header()
	for header, value := range p.Header {
		h.Set(header, value)
	}
	if p.Status == http.StatusTooManyRequests {
		h.Set("Connection", "close") // a client that asks too much keeps no idle connection
	}
	h.Set(Header, "1")
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	w.Write(body) // an error means that the client has gone
}

// maxRetryAfter bounds the wait that an answer may ask for.
const maxRetryAfter = time.Hour

// RetryAfter returns how long an answer asks its client to wait, in seconds or by a moment, or 0.
func RetryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(min(max(n, 0), int64(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(time.Until(at), 0), maxRetryAfter)
	}
	return 0
}
