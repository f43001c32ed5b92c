package handlers

import (
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// A response is the line of an answer that net/http writes: HTTP/2, TLS, and
// whatever writer cannot be hijacked.
type response struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	conn     net.Conn      // nil: the server does not tell
	deadline time.Duration // of one write; negative: none

	// HTTP/1 looks at its deadline in a write only.
	http1 bool
	armed time.Time // when it was set

	// HTTP/2 resets a stream when its deadline passes, also while nothing is being
	// written, and setting it costs a message to the connection's goroutine. So
	// there it is set by watch, and only once it has passed.
	watch   *time.Timer
	mu      sync.Mutex
	writing bool
	late    bool
}

// newResponse returns the line of an answer, whose socket is bounded from now on
// if the server tells which it is.
func (h *Handler) newResponse(w http.ResponseWriter, r *http.Request) *response {
	l := &response{w: w, control: http.NewResponseController(w), deadline: h.cfg.WriteDeadline, http1: r.ProtoMajor == 1}
	l.conn, _ = r.Context().Value(connKey{}).(net.Conn)
	if l.http1 {
		control(l.conn, bound)
	} else {
		control(l.conn, boundShared)
	}
	return l
}

// respond drives a stream as the answer of its handler, and closes it.
func (s *stream) respond(w http.ResponseWriter, r *http.Request) {
	defer s.close()
	defer s.h.rescue()
	s.visit = visit{bare: r, whole: true} // it is there anyway
	l := s.h.newResponse(w, r)
	if l.http1 {
		// Without chunks: what is written is what goes out, and the connection
		// ends with the stream.
		w.Header().Set("Transfer-Encoding", "identity")
	}
	w.WriteHeader(http.StatusOK)
	s.attend(r.Context(), l, nil)
}

// rearm is how often a deadline is set at most while one write follows another:
// by so much a write may take longer.
const rearm = 100 * time.Millisecond

func (l *response) write(b []byte) error {
	l.begin()
	_, err := l.w.Write(b)
	if err == nil {
		err = l.control.Flush()
	}
	if l.end() {
		return os.ErrDeadlineExceeded
	}
	return err
}

// begin gives a write its deadline.
func (l *response) begin() {
	switch {
	case l.deadline <= 0:
	case l.http1:
		if now := time.Now(); now.Sub(l.armed) > rearm {
			l.armed = now
			l.control.SetWriteDeadline(now.Add(l.deadline + rearm))
		}
	default:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.writing = true
		if l.watch == nil {
			l.watch = time.AfterFunc(l.deadline, l.stop)
		} else {
			l.watch.Reset(l.deadline)
		}
	}
}

// end takes the deadline back, and reports whether the write was stopped by it.
// From then on nothing touches the answer, which is the server's again once the
// handler has returned.
func (l *response) end() (late bool) {
	if l.watch == nil {
		return false
	}
	l.watch.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writing = false
	return l.late
}

// stop resets the stream of a write that takes too long. Where that does not end
// it, the connection itself takes nothing, of no stream: it is closed.
func (l *response) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.writing:
	case !l.late:
		l.late = true
		l.control.SetWriteDeadline(time.Unix(1, 0))
		l.watch.Reset(partTime)
	default:
		abort(l.conn)
	}
}
