package handlers

import (
	"hash/maphash"
	"sync"
	"time"
)

// A beatRate limits how often each connection sends beats and leaves. It stores a hash of a connection's name,
// with a random seed, so it needs no memory for names. It forgets a connection that sent nothing for a second
// or two. That is no way around the limit, since the burst of a pace is at most a second.
type beatRate struct {
	pace pace
	seed maphash.Seed

	mu          sync.Mutex
	now, before map[uint64]bucket // the connections that sent in the present second, and in the one before
	began       time.Time         // the present second
	shared      bucket            // shared by all connections beyond maxBeating
}

// maxBeating bounds the connections of a second, and so the memory: 64 MB at most, in a
// flood of tokens that this fleet made.
const maxBeating = 1 << 20

func (b *beatRate) init(p pace) {
	b.pace, b.seed = p, maphash.MakeSeed()
	b.now, b.before = make(map[uint64]bucket), make(map[uint64]bucket)
}

// exceeded counts a request of a connection, and reports whether it has sent too many.
func (b *beatRate) exceeded(connection string) bool {
	if b.pace.interval < 0 {
		return false
	}
	key, now := maphash.String(b.seed, connection), time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.began) >= b.pace.burst {
		b.now, b.before, b.began = b.before, b.now, now
		clear(b.now)
	}
	of, ok := b.now[key]
	if !ok {
		of = b.before[key]
		if len(b.now) >= maxBeating {
			return !b.shared.take(b.pace, now)
		}
	}
	took := of.take(b.pace, now)
	b.now[key] = of
	return !took
}
