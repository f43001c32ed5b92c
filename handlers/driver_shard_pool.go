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

// adopt gives a stream and its socket to a shard. input has the bytes that were already read. It returns
// false, and does nothing, if the poller cannot watch the connection.
func (p *shardPool) adopt(s *stream, socket net.Conn, input []byte) bool {
	switch socket.(type) {
	case *net.TCPConn, *net.UnixConn: // no wrapper of these, which may change the bytes
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
