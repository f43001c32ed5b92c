package handlers

import (
	"net"
	"sync/atomic"
	"syscall"
)

// A writer drives streams without a goroutine for each: it shares them out among
// a few shards.
type writer struct {
	shards []*shard
	next   atomic.Uint32
}

func newWriter(h *Handler, shards int) *writer {
	w := new(writer)
	for range shards {
		w.shards = append(w.shards, newShard(h))
	}
	return w
}

// adopt takes a stream and its connection, of which something was read already,
// unless it is one that the system's poller cannot watch.
func (w *writer) adopt(s *stream, conn net.Conn, sent []byte) bool {
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn: // what wraps one may change what goes through
	default:
		return false
	}
	fd, ok := descriptor(conn.(syscall.Conn))
	if !ok {
		return false
	}
	bound(fd)
	sh := w.shards[w.next.Add(1)%uint32(len(w.shards))]
	wi := &wire{stream: s, conn: conn, fd: fd}
	return sh.do(wi, func() { sh.take(wi, sent) }, true)
}
