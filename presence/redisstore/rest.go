package redisstore

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// keepAtRest is how long the keys of a fleet stay after its last node has ended. An outage over a weekend
// loses nothing, and what users left behind is removed. Each script that creates a key gives it this time to
// live, and the sweeps of running nodes extend it for all keys. Two keys have none: the record of a topic
// (rule 17), and the hash with the fleet's secret.
const keepAtRest = 48 * time.Hour

// Each node extends the life of all keys once in restEvery. One sweep does a page of topics.
const (
	restEvery = 6 * time.Hour
	restAfter = 10 * time.Minute // after the start
	restTopic = 100              // about how many topics a sweep does
)

// A rest is this node's progress in extending the life of all keys.
type rest struct {
	mu     sync.Mutex // held while a sweep of this node does a page
	next   time.Time  // when to begin; zero: restAfter after the first sweep
	cursor uint64     // in the list of all topics
}

// lengthen extends the life of some topics' keys, if it is time, and at the end that of the keys that all
// topics share. If it fails, the next sweep repeats it.
func (s *upkeep) lengthen(ctx context.Context) {
	r, now := &s.rest, s.localTime()
	if !r.mu.TryLock() {
		return
	}
	defer r.mu.Unlock()
	if r.next.IsZero() {
		r.next = now.Add(restAfter)
	}
	if now.Before(r.next) {
		return
	}
	next, err := s.lengthenSome(ctx, r.cursor)
	if err == nil && next == 0 {
		err = s.lengthenShared(ctx)
	}
	if err != nil {
		return
	}
	if r.cursor = next; next == 0 {
		r.next = s.localTime().Add(restEvery)
	}
}

func (s *upkeep) lengthenSome(ctx context.Context, cursor uint64) (next uint64, err error) {
	// This list has each topic that has had a lease, as long as the topic keeps anything.
	topics, next, err := s.scanPage(ctx, s.writes, "lengthen", scan{"SSCAN", s.indexKey("seen"), "", restTopic}, cursor)
	if err != nil || len(topics) == 0 {
		return next, err
	}
	evals := make([]eval, len(topics))
	for i, t := range topics {
		evals[i] = eval{restScript, s.keys(presence.Topic(t), "leases", "users", "hidden", "seen", "count", "log", "head"), nil}
	}
	_, err = s.runEach(ctx, "lengthen", evals...)
	return next, err
}

func (s *upkeep) lengthenShared(ctx context.Context) error {
	keys := append(s.noticeLog(), s.statusKeys()...)
	keys = append(keys, s.indexKeys("due", "due:idle", "views", "views:idle", "topics", "seen", "changed", "nodes", "terms", "sweeps")...)
	keys = append(append(keys, s.erasureKeys()...), s.consumersKey())
	return s.send(ctx, s.writes, "lengthen", func(ctx context.Context, p redis.Pipeliner) {
		for _, key := range keys {
			p.PExpire(ctx, key, keepAtRest)
		}
	})
}
