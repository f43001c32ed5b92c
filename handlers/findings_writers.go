package handlers

import (
	"fmt"
	"net/http"

	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
)

// collected reports that a writer collects answers, and returns the answer to the request for a stream.
func (ss *streams) collected(by http.ResponseWriter, endpoint, what string) error {
	ss.tracker.Found(presence.AnswersCollected, "endpoint", endpoint, "writer", fmt.Sprintf("%T", by))
	return collects(what)
}

// collects returns the answer to a request for a stream whose bytes would be held back.
func collects(what string) error {
	return problem.New(http.StatusInternalServerError, what+" does not work here: a middleware before this handler "+
		"collects answers, such as a timeout, or wraps the ResponseWriter without Unwrap. It must skip this path.")
}

// innerWriter returns the writer that w writes to, or nil if w does not say. It leaves out our own writer, which
// is as good as the writer below it.
func innerWriter(w http.ResponseWriter) http.ResponseWriter {
	outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
	if !ok {
		return nil
	}
	inner := outer.Unwrap()
	if _, ours := inner.(interface{ watches() }); ours {
		return innerWriter(inner)
	}
	return inner
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

// flushes reports whether bytes written to w can reach the client before the answer ends. It returns false if
// no writer can flush. It also returns false if the answer is compressed according to its header, and only the
// server's own writer can flush: then the compressor holds the bytes back.
//
// It cannot know what a writer's Flush does. If Flush does nothing, or a proxy holds the answer back, it still
// returns true.
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
