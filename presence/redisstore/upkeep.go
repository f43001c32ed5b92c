package redisstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// Age implements [backend.Store]. It costs two round trips for every 500 topics
// whose period is over, and one for every 60 of them.
func (s *upkeep) Age(ctx context.Context, period time.Duration) (turned int, err error) {
	script := func(t presence.Topic) (e eval, weight int) {
		keys := s.keys(t, "current", "old", "guests", "before", "aged", "listed", "names", "bots", "signed")
		return eval{viewsAgeScript, keys, []any{s.now(), period.Milliseconds()}}, lookCosts
	}
	_, err = s.eachDue(ctx, "age", "views", lookAgain, dueJob{
		scripts: func(topics []presence.Topic) []dueScript { return apiece(topics, script) },
		took: func(_ presence.Topic, answer []int64) time.Duration {
			if len(answer) < 2 {
				return lookAgain
			}
			turned += int(answer[0])
			return time.Duration(answer[1]) * time.Millisecond
		},
		more: func() bool { return true },
	})
	return turned, err
}

// maxTrim is how many users one script forgets, and also all scripts of a round trip together.
const maxTrim = 1000

// Trim implements [backend.Store]. It costs one round trip for the chosen statuses,
// three for every few hundred topics, and more where thousands of users are forgotten.
func (s *upkeep) Trim(ctx context.Context, keep time.Duration, most int) (forgotten int, err error) {
	if forgotten, err = s.trimStatuses(ctx, keep, most); err != nil {
		return forgotten, err
	}
	err = s.scanAll(ctx, s.writes, "trim", scan{"SSCAN", s.indexKey("seen"), "", maxClaimed}, func(topics []string) error {
		n, err := s.trimSeen(ctx, topics, keep, most)
		forgotten += n
		return err
	})
	return forgotten, err
}

// trimSeen forgets users who were last seen long ago, until each of the topics is within the bounds. Topics
// that remember no user are removed from the index.
func (s *upkeep) trimSeen(ctx context.Context, topics []string, keep time.Duration, most int) (forgotten int, err error) {
	var empty []any
	for len(topics) > 0 {
		evals, share := make([]eval, len(topics)), max(maxTrim/len(topics), 10)
		for i, t := range topics {
			evals[i] = eval{seenTrimScript, s.keys(presence.Topic(t), "seen", "lately", "names"), []any{s.now(), keep.Milliseconds(), most, share}}
		}
		answers, err := s.runEach(ctx, "trim", evals...)
		if err != nil {
			return forgotten, err
		}
		var again []string
		for i, t := range topics {
			r, err := answers[i].Int64Slice()
			if err != nil || len(r) < 3 {
				continue // the next Trim repeats it
			}
			dropped, more, left := r[0], r[1] == 1, r[2]
			forgotten += int(dropped)
			switch {
			case more:
				again = append(again, t)
			case left == 0:
				empty = append(empty, t)
			}
		}
		topics = again
	}
	for part := range slices.Chunk(empty, maxNotes) {
		keys := s.indexKeys("seen", "due")
		if _, err := s.runOne(ctx, s.writes, "trim", eval{indexForgetScript, keys, part}); err != nil {
			return forgotten, err
		}
	}
	return forgotten, nil
}

// keepAtRest is how long the keys of a fleet stay after its last node has ended. An outage over a weekend
// loses nothing, and what users left behind is removed. Each script that creates a key gives it this time to
// live, and the sweeps of running nodes extend it for all keys. Two keys have none: the record of a topic
// (rule 9), and the hash with the fleet's secret.
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
		err = s.send(ctx, s.writes, "lengthen", func(ctx context.Context, p redis.Pipeliner) {
			for _, key := range s.sharedKeys() {
				p.PExpire(ctx, key, keepAtRest)
			}
		})
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
