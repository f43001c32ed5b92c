package handlers

import "github.com/rollcall-go/rollcall/presence"

// A batch is what one turn of a stream writes. Batches are pooled, so that a
// stream that waits holds none.
type batch struct {
	events []presence.Event
	bytes  []byte
}

// maxPooledBatch bounds the bytes that a batch keeps for the next turn.
const maxPooledBatch = 64 << 10

func (h *Handler) batch() *batch {
	if b, ok := h.batches.Get().(*batch); ok {
		return b
	}
	return new(batch)
}

// release takes a batch back once all of it was written.
func (h *Handler) release(b *batch) {
	if cap(b.bytes) > maxPooledBatch {
		b.bytes = nil
	}
	clear(b.events) // or it would hold on to the events' data
	b.events, b.bytes = b.events[:0], b.bytes[:0]
	h.batches.Put(b)
}
