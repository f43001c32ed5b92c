package handlers

import (
	"fmt"
	"net/http"

	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
)

// collected returns the answer to a request for a stream where a writer collects answers,
// and reports that.
func (ss *streams) collected(by http.ResponseWriter, endpoint, what string) error {
	ss.tracker.Found(presence.AnswersCollected, "endpoint", endpoint, "writer", fmt.Sprintf("%T", by))
	return collects(what)
}

// collects returns the answer to a request for a stream that cannot flow.
func collects(what string) error {
	return problem.New(http.StatusInternalServerError, what+" does not work here: a middleware before this handler "+
		"collects answers, such as a timeout, or wraps the ResponseWriter without Unwrap. It must skip this path.")
}

// innerWriter returns the writer that w writes to, or nil if w does not say.
func innerWriter(w http.ResponseWriter) http.ResponseWriter {
	if outer, ok := w.(interface{ Unwrap() http.ResponseWriter }); ok {
		return outer.Unwrap()
	}
	return nil
}

// lastWriter returns the innermost writer of an answer that can be reached.
func lastWriter(w http.ResponseWriter) http.ResponseWriter {
	for inner := innerWriter(w); inner != nil; inner = innerWriter(w) {
		w = inner
	}
	return w
}

// hijacks reports whether one of the writers of an answer says that it can be hijacked.
func hijacks(w http.ResponseWriter) bool {
	for ; w != nil; w = innerWriter(w) {
		if _, ok := w.(http.Hijacker); ok {
			return true
		}
	}
	return false
}

// flushes reports whether what is written to w can reach the client before the answer
// ends. It reports false if no writer can flush. It also reports false if the answer is
// said to be compressed, and no writer but the server's own can flush: then the compressor
// keeps what it has.
//
// It cannot know what a writer's Flush does. An answer that is kept by a Flush that does
// nothing, or by a proxy, looks like any other.
func flushes(w http.ResponseWriter) bool {
	for outermost := true; w != nil; outermost = false {
		inner := innerWriter(w)
		switch w.(type) {
		case http.Flusher, interface{ FlushError() error }:
			return outermost || inner != nil || w.Header().Get("Content-Encoding") == ""
		}
		w = inner
	}
	return false
}
