package handlers

import (
	"net/http"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/presence"
)

// open opens the stream that a request asks for. Whoever drives it closes it.
func (h *Handler) open(r *http.Request, o presence.ConnectOptions, says speech, count *atomic.Int64) (*stream, error) {
	return h.openAfter(r, o, says, count, func() error { return nil })
}

// openAfter opens a stream if it is admitted and prepare then returns no error, which
// is called before anybody is recorded.
func (h *Handler) openAfter(r *http.Request, o presence.ConnectOptions, says speech, count *atomic.Int64, prepare func() error) (*stream, error) {
	v, err := newVisit(r)
	if err != nil {
		return nil, err
	}
	in, err := h.admit(r)
	if err != nil {
		return nil, err
	}
	if err := prepare(); err != nil {
		h.leave(in)
		return nil, err
	}
	conn, err := h.tracker.Connect(r.Context(), o)
	if err != nil {
		h.leave(in)
		return nil, err
	}
	h.streams.enter(count)
	s := h.newStream(v, conn, o, says)
	s.admitted, s.transport = in, count
	return s, nil
}
