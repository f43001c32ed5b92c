package redisstore

import (
	"context"
	"time"

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
