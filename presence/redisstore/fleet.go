package redisstore

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A fleet is what this node knows of the keyspace that all nodes share. Each part of a Store
// has it, to reach the server by the link and to name keys.
type fleet struct {
	*link
	keyspace
	index *index

	logSize int
	keepLog time.Duration // keepLog, and less in tests

	id     atomic.Pointer[string] // nil until it is known
	secret atomic.Pointer[[]byte] // the last that was read
}

// topicArgs are the first arguments of scripts that begin with lua/topic.lua.
func (s *fleet) topicArgs(topic presence.Topic) []any {
	return []any{
		s.now(), rand.Uint32(), s.publish(), s.channel(topic) + s.place(),
		s.keepLog.Milliseconds(), s.logSize, messageVersion,
	}
}
