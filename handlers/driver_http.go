package handlers

import (
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// A response is the sink of an answer that net/http writes: over HTTP/2, over TLS, or
// with a writer that cannot be hijacked.
type response struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	conn     net.Conn      // nil: unknown, see ConnContext
	deadline time.Duration // of one write; negative: none

	// Over HTTP/1 a deadline has an effect only during a write.
	http1 bool
	armed time.Time // when the deadline was set

	// Over HTTP/2 a passed deadline resets the stream even if nothing is being written,
	// and setting one costs a message to the connection's goroutine. So a timer sets
	// the deadline, after it has passed.
	timer *time.Timer

	mu      sync.Mutex
	writing bool
	late    bool
}

// newResponse returns the sink of an answer. If ConnContext has made the socket known, it limits what the
// kernel keeps for it.
func newResponse(w http.ResponseWriter, r *http.Request, deadline time.Duration) *response {
	l := &response{w: w, control: http.NewResponseController(w), deadline: deadline, http1: r.ProtoMajor == 1}
	l.conn, _ = r.Context().Value(connKey{}).(net.Conn)
	if l.http1 {
		control(l.conn, limitSocket)
	} else {
		control(l.conn, limitSharedSocket)
	}
	return l
}

// respond drives a stream in the goroutine of its handler, and closes it.
func (s *stream) respond(w http.ResponseWriter, r *http.Request) {
	defer s.close()
	defer s.streams.faults.recoverStream()
	s.request = wholeRequest(r) // the request is in memory anyway
	l := newResponse(w, r, s.streams.cfg.WriteDeadline)
	if l.http1 {
		// The body has no chunks, and the connection ends with it.
		w.Header().Set("Transfer-Encoding", "identity")
	}
	w.WriteHeader(http.StatusOK)
	s.run(r.Context(), l, nil)
}

// rearm is the least time between two settings of a deadline over HTTP/1. A write may exceed its deadline by
// that much.
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

// begin sets the deadline of a write.
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
		if l.timer == nil {
			l.timer = time.AfterFunc(l.deadline, l.stop)
		} else {
			l.timer.Reset(l.deadline)
		}
	}
}

// end removes the deadline, and reports whether it has stopped the write. After end the
// timer does not touch the answer any more, so the handler may return.
func (l *response) end() (late bool) {
	if l.timer == nil {
		return false
	}
	l.timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writing = false
	return l.late
}

// stop resets the stream of a write that takes too long. If the write still does not
// return, the whole connection is stuck: stop closes it.
func (l *response) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.writing:
	case !l.late:
		l.late = true
		l.control.SetWriteDeadline(time.Unix(1, 0))
		l.timer.Reset(partTime)
	default:
		abort(l.conn)
	}
}
