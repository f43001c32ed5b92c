package handlers

import (
	"context"
	"sync"
	"sync/atomic"
)

// openStreams counts the open streams. The zero value counts none.
type openStreams struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n is 0 again; nil: Wait is not waiting
}

// opened counts one more stream, also among those of its transport.
func (o *openStreams) opened(ofTransport *atomic.Int64) {
	ofTransport.Add(1)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.n++
}

// closed undoes one call of opened.
func (o *openStreams) closed(ofTransport *atomic.Int64) {
	ofTransport.Add(-1)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n--; o.n == 0 && o.none != nil {
		close(o.none)
		o.none = nil
	}
}

// Wait waits until no stream is open, or returns the error of ctx. Streams end when the tracker closes: each
// client is told when to reconnect, and has a second to read that. [http.Server] does not know most streams.
// So a site that stops closes the tracker, calls Wait, and then shuts its server down.
func (h *Handler) Wait(ctx context.Context) error {
	o := &h.streams.open
	o.mu.Lock()
	if o.n == 0 {
		o.mu.Unlock()
		return nil
	}
	if o.none == nil {
		o.none = make(chan struct{})
	}
	none := o.none
	o.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
