package redisstore

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A fleet has this node's knowledge of the keyspace that all nodes share. Each part of a Store has it, for
// its link to the server and its names of keys.
type fleet struct {
	*link
	keyspace
	index *index

	logSize int
	keepLog time.Duration // the constant keepLog, or less in tests

	id     atomic.Pointer[string] // nil until it is known
	secret atomic.Pointer[[]byte] // the latest that was read
}

// topicArgs returns the first arguments of the scripts that begin with lua/topic.lua.
func (s *fleet) topicArgs(topic presence.Topic) []any {
	return []any{
		s.now(), rand.Uint32(), s.publish(), s.channel(topic) + s.place(),
		s.keepLog.Milliseconds(), s.logSize, messageVersion,
	}
}
