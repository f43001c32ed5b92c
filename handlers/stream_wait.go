package handlers

import (
	"context"
	"sync"
	"sync/atomic"
)

// A tally counts the streams that are open. The zero value counts none.
type tally struct {
	mu   sync.Mutex
	open int
	none chan struct{} // closed when open is 0 again; nil: nobody waits
}

// enter counts one more, also among those of its transport.
func (t *tally) enter(transport *atomic.Int64) {
	transport.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open++
}

func (t *tally) leave(transport *atomic.Int64) {
	transport.Add(-1)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open--; t.open == 0 && t.none != nil {
		close(t.none)
		t.none = nil
	}
}

// Wait returns when no stream is open, or with the error of ctx. Streams end when
// the tracker closes: each is told when to come back, and has a second to hear it.
// A server knows nothing of most of them, so a site that stops closes the tracker,
// then waits here, and then shuts its server down.
func (h *Handler) Wait(ctx context.Context) error {
	t := &h.streams
	t.mu.Lock()
	if t.open == 0 {
		t.mu.Unlock()
		return nil
	}
	if t.none == nil {
		t.none = make(chan struct{})
	}
	none := t.none
	t.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
