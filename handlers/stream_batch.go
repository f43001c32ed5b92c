package handlers

import "github.com/rollcall-go/rollcall/presence"

// A batch holds what one turn of a stream writes. Batches are pooled, so that a stream
// that waits holds none.
type batch struct {
	events []presence.Event
	bytes  []byte
}

// maxPooledBatch bounds the bytes that a batch keeps for the next turn.
const maxPooledBatch = 64 << 10

// getBatch returns an empty batch.
func (h *Handler) getBatch() *batch {
	if b, ok := h.batches.Get().(*batch); ok {
		return b
	}
	return new(batch)
}

// putBatch takes a batch back after all of it was written.
func (h *Handler) putBatch(b *batch) {
	if cap(b.bytes) > maxPooledBatch {
		b.bytes = nil
	}
	clear(b.events) // the events' data must not be kept
	b.events, b.bytes = b.events[:0], b.bytes[:0]
	h.batches.Put(b)
}
