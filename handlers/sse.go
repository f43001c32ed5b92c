package handlers

import (
	"net/http"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// sse is the transport of Server-Sent Events, over whatever net/http gives:
// HTTP/1.1 or HTTP/2, plain or TLS, behind any middleware whose writer can be
// unwrapped.
type sse struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	deadline time.Duration // of one write; negative: none
	http1    bool
}

// newSSE returns a transport that has written nothing yet, or a problem where
// streaming is impossible.
func newSSE(w http.ResponseWriter, r *http.Request, deadline time.Duration) (*sse, error) {
	s := &sse{w: w, control: http.NewResponseController(w), deadline: deadline, http1: r.ProtoMajor == 1}
	return s, clearDeadline(s.control)
}

// clearDeadline takes the server's own timeout from an answer, which is for
// answers that end. A writer that cannot be told so can neither flush nor be
// hijacked: it collects the whole answer.
func clearDeadline(control *http.ResponseController) error {
	if err := control.SetWriteDeadline(time.Time{}); err != nil {
		return newProblem(http.StatusInternalServerError,
			"Streaming does not work here: something before this handler collects answers, such as a timeout middleware. It must leave this path alone.")
	}
	return nil
}

// open sends the head of the answer, or leaves that to the first write.
func (s *sse) open() {
	header := s.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // nginx
	if s.http1 {
		// Without chunks: what is written is what goes out, and the connection
		// ends with the stream.
		header.Set("Transfer-Encoding", "identity")
	}
	s.w.WriteHeader(http.StatusOK)
}

func (s *sse) frame(b []byte, event presence.EventType, id presence.Cursor, data []byte) []byte {
	b = append(b, "event: "...)
	b = append(b, event...)
	if id != "" {
		b = append(b, "\nid: "...)
		b = append(b, id...)
	}
	b = append(b, "\ndata: "...)
	b = append(b, data...)
	return append(b, "\n\n"...)
}

func (s *sse) retry(b []byte, wait time.Duration) []byte {
	b = append(b, "retry: "...)
	b = strconv.AppendInt(b, wait.Milliseconds(), 10)
	return append(b, '\n') // counts as it is read, with an event or without
}

func (s *sse) write(b []byte) error {
	if s.deadline > 0 {
		s.control.SetWriteDeadline(time.Now().Add(s.deadline))
		// HTTP/2 resets a stream whose deadline passes, also while nothing is
		// being written; HTTP/1 looks at it in the next write, which sets another.
		if !s.http1 {
			defer s.control.SetWriteDeadline(time.Time{})
		}
	}
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s *sse) bye(_ error, wait time.Duration) { s.write(s.retry(nil, wait)) }
