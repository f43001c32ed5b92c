package bridge

import (
	"net/http"
	"time"
)

// Deadline returns a handler around an sse.Server that ends the stream of a client
// who does not take what is written to it for so long; without it the server
// waits until TCP gives up, which is a quarter of an hour, and everybody else on
// the stream with it. 10 s is what package handlers gives.
func Deadline(server http.Handler, d time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server.ServeHTTP(&deadlineWriter{w, http.NewResponseController(w), d}, r)
	})
}

// A deadlineWriter sets a deadline for each write. When one has passed, the
// request's context ends, which makes the server let the client go.
type deadlineWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	d       time.Duration
}

// Write implements [http.ResponseWriter].
func (w *deadlineWriter) Write(b []byte) (int, error) {
	if err := w.control.SetWriteDeadline(time.Now().Add(w.d)); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(b)
}

// Flush implements [http.Flusher].
func (w *deadlineWriter) Flush() {
	if w.control.SetWriteDeadline(time.Now().Add(w.d)) == nil {
		_ = w.control.Flush() // the next write tells
	}
}

// Unwrap lets [http.ResponseController] through.
func (w *deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
