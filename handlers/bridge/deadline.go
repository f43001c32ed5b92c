package bridge

import (
	"net/http"
	"time"
)

// Deadline returns a handler around an sse.Server. It disconnects a client that does not
// read within d. Without it the server waits until TCP gives up, a quarter of an hour, and
// all other clients of the stream wait too. Package handlers uses 10 s.
func Deadline(server http.Handler, d time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server.ServeHTTP(&deadlineWriter{w, http.NewResponseController(w), d}, r)
	})
}

// A deadlineWriter sets a deadline for each write. After a deadline has passed the
// request's context ends, and so the server removes the client.
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
		_ = w.control.Flush() // the next write returns the error
	}
}

// Unwrap is for [http.ResponseController].
func (w *deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
