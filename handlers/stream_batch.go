package handlers

import (
	"sync"

	"github.com/rollcall-go/rollcall/presence"
)

// A batch holds what one turn of a stream writes. Batches are pooled, so that a stream
// that waits holds none.
type batch struct {
	events []presence.Event
	bytes  []byte
}

// maxPooledBatch bounds the bytes that a batch keeps for the next turn.
const maxPooledBatch = 64 << 10

// A batchPool keeps batches for the next turn of any stream.
type batchPool struct{ pool sync.Pool }

// get returns an empty batch.
func (p *batchPool) get() *batch {
	if b, ok := p.pool.Get().(*batch); ok {
		return b
	}
	return new(batch)
}

// put takes a batch back after all of it was written.
func (p *batchPool) put(b *batch) {
	if cap(b.bytes) > maxPooledBatch {
		b.bytes = nil
	}
	clear(b.events) // the events' data must not be kept
	b.events, b.bytes = b.events[:0], b.bytes[:0]
	p.pool.Put(b)
}
