package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// Nodes of version 1 may be there while a fleet is updated, or taken back. They share
// the topics' keys, the index and the log of notices. Their channels are others,
// whose names hold no id: presence:{topic}:diffs, and presence:{notices}, on which
// an empty message says that the log has a new notice.
//
// This version never subscribes to presence:{notices}. So the number of those who
// get a message there is that of the nodes of version 1. Only while there are any,
//
//   - diffs are also published on the old channel, in the old form;
//   - a message there makes the reader look into the log: it may be of another
//     database, so it is a hint and no diff;
//   - notices that do not last are also written to the log, in the old form, which
//     is read more often.
//
// An entry of the log without a version is theirs.

// legacyFor is how long nodes of version 1 count as there after one was: its
// subscription may just be broken.
const legacyFor = time.Minute

// legacyHearEvery is how often the log of notices is read while they are there.
const legacyHearEvery = 200 * time.Millisecond

func (s *Store) legacyEval() eval {
	return eval{legacyCountScript, s.noticeLog(), []any{s.publish(), s.notices()}}
}

// heardOf takes the number of nodes of version 1. What cannot be asked counts as
// some. On a cluster before Redis 7 the number is of one server alone.
func (s *Store) heardOf(n int64, err error) {
	if n > 0 || err != nil {
		s.meta.legacy.Store(time.Now().Add(legacyFor).UnixMilli())
	}
}

// legacy reports whether nodes of version 1 may be there.
func (s *Store) legacy() bool {
	if _, cluster := s.client.(*redis.ClusterClient); cluster && s.mode.Load() == plain {
		return true
	}
	return time.Now().UnixMilli() < s.meta.legacy.Load()
}

// legacyChannel is where nodes of version 1 want a topic's diffs; empty where there
// are none.
func (s *Store) legacyChannel(topic presence.Topic) string {
	if !s.legacy() {
		return ""
	}
	return s.channel(topic)
}

// keepStatuses keeps the statuses that nodes of version 1 told, which keep none.
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
