package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// While a fleet is updated or taken back, some nodes are of version 1. They share the
// topics' keys, the index and the log of notices. Their channels have other names, without
// an id: presence:{topic}:diffs, and presence:{notices}, on which an empty message says that
// the log has a new notice.
//
// This version never subscribes to presence:{notices}. So the number of nodes that get a
// message there is the number of nodes of version 1. While it is not zero,
//
//   - diffs are also published on the old channel, in the old form;
//   - a message on the old channel makes the reader read the topic's log. It may come from
//     another database, so it is a hint and not a diff;
//   - notices of the moment are also written to the log, which is read more often.
//
// An entry of the log without a version is from a node of version 1.

// legacyFor is how long nodes of version 1 are expected after the last one was counted: its
// subscription may be broken for a moment.
const legacyFor = time.Minute

// legacyHearEvery is how often the log of notices is read while there are such nodes.
const legacyHearEvery = 200 * time.Millisecond

func (s *Store) legacyEval() eval {
	return eval{legacyCountScript, s.noticeLog(), []any{s.publish(), s.notices()}}
}

// heardOf takes the number of nodes of version 1. An error counts as if such nodes existed. On a cluster
// before Redis 7 the number is that of one server alone.
func (s *Store) heardOf(n int64, err error) {
	if n > 0 || err != nil {
		s.meta.legacy.Store(time.Now().Add(legacyFor).UnixMilli())
	}
}

// legacy reports whether there may be nodes of version 1.
func (s *Store) legacy() bool {
	if _, cluster := s.client.(*redis.ClusterClient); cluster && s.mode.Load() == plain {
		return true
	}
	return time.Now().UnixMilli() < s.meta.legacy.Load()
}

// legacyChannel is the channel on which nodes of version 1 get a topic's diffs; empty if
// there are no such nodes.
func (s *Store) legacyChannel(topic presence.Topic) string {
	if !s.legacy() {
		return ""
	}
	return s.channel(topic)
}

// keepStatuses keeps the statuses that nodes of version 1 published, which keep none
// themselves.
func (s *Store) keepStatuses(ctx context.Context, told []toldStatus) error {
	evals := make([]eval, len(told))
	for i, t := range told {
		evals[i] = eval{statusKeepScript, s.statusKeys(), []any{string(t.user), string(t.status), t.at}}
	}
	if len(evals) == 0 {
		return nil
	}
	_, err := call(ctx, s.writes, "listen", func(ctx context.Context) ([]*redis.Cmd, error) { return s.run(ctx, evals...) })
	return err
}

// A toldStatus is a status that a user chose, and when, in Unix ms.
type toldStatus struct {
	user   presence.UserID
	status presence.Status
	at     int64
}
