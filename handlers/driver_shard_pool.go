package handlers

import (
	"net"
	"sync/atomic"
	"syscall"
)

// A shardPool drives streams without a goroutine for each: it deals them out to a few
// shards in turn.
type shardPool struct {
	shards []*shard
	next   atomic.Uint32
}

func newShardPool(f *faults, shards int) *shardPool {
	p := new(shardPool)
	for range shards {
		p.shards = append(p.shards, newShard(f))
	}
	return p
}

// adopt gives a stream and its socket to a shard, with the input that was already read.
// It reports false, and does nothing, for a connection that the poller cannot watch.
func (p *shardPool) adopt(s *stream, socket net.Conn, input []byte) bool {
	switch socket.(type) {
	case *net.TCPConn, *net.UnixConn: // a type around one of these may change the bytes
	default:
		return false
	}
	fd, ok := descriptor(socket.(syscall.Conn))
	if !ok {
		return false
	}
	limitSocket(fd)
	sh := p.shards[p.next.Add(1)%uint32(len(p.shards))]
	adopted := &shardStream{stream: s, socket: socket, fd: fd}
	return sh.post(adopted, func() { sh.start(adopted, input) }, true)
}
