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
	mu     sync.Mutex
	next   time.Time // when to begin; zero: restAfter after the first sweep
	busy   bool      // a sweep of this node is doing a page
	cursor uint64    // in the list of all topics
}

// due reports whether it is time for a page.
func (r *rest) due(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next.IsZero() {
		r.next = now.Add(restAfter)
	}
	if r.busy || now.Before(r.next) {
		return false
	}
	r.busy = true
	return true
}

func (r *rest) done(next uint64, err error, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = false
	if err != nil {
		return // the next sweep repeats it
	}
	if r.cursor = next; next == 0 {
		r.next = now.Add(restEvery)
	}
}

// lengthen extends the life of some topics' keys, and at the end that of the keys that all topics share.
func (s *upkeep) lengthen(ctx context.Context) {
	if !s.rest.due(s.localTime()) {
		return
	}
	next, err := s.lengthenSome(ctx, s.rest.cursor)
	if err == nil && next == 0 {
		err = s.lengthenShared(ctx)
	}
	s.rest.done(next, err, s.localTime())
}

func (s *upkeep) lengthenSome(ctx context.Context, cursor uint64) (next uint64, err error) {
	var topics []string
	_, err = call(ctx, s.writes, "lengthen", func(ctx context.Context) (struct{}, error) {
		// This list has each topic that has had a lease, as long as the topic keeps anything.
		topics, next, err = s.one().SScan(ctx, s.indexKey("seen"), cursor, "", restTopic).Result()
		return struct{}{}, err
	})
	if err != nil || len(topics) == 0 {
		return next, err
	}
	evals := make([]eval, len(topics))
	for i, t := range topics {
		evals[i] = eval{restScript, s.keys(presence.Topic(t), "leases", "users", "hidden", "seen", "count", "log", "head"), nil}
	}
	_, err = call(ctx, s.writes, "lengthen", func(ctx context.Context) ([]*redis.Cmd, error) { return s.run(ctx, evals...) })
	return next, err
}

func (s *upkeep) lengthenShared(ctx context.Context) error {
	keys := append(s.noticeLog(), s.statusKeys()...)
	for _, name := range []string{"due", "due:idle", "views", "views:idle", "topics", "seen", "changed", "nodes", "terms", "sweeps"} {
		keys = append(keys, s.indexKey(name))
	}
	keys = append(append(keys, s.erasureKeys()...), s.consumersKey())
	_, err := call(ctx, s.writes, "lengthen", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.pipelined(ctx, func(p redis.Pipeliner) {
			for _, key := range keys {
				p.PExpire(ctx, key, keepAtRest)
			}
		})
	})
	return err
}
