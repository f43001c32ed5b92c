package redisstore

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Age implements [backend.Store]. It costs two round trips for every 500 topics
// whose period is over, and one for every 60 of them.
func (s *upkeep) Age(ctx context.Context, period time.Duration) (turned int, err error) {
	j := &ageJob{store: s, period: period}
	_, err = s.eachDue(ctx, "age", "views", lookAgain, j)
	return j.turned, err
}

// An ageJob turns the sets and sketches of page views, topic by topic.
type ageJob struct {
	store  *upkeep
	period time.Duration
	turned int
}

func (j *ageJob) scripts(topics []presence.Topic) []dueScript { return apiece(topics, j.script) }

func (j *ageJob) script(topic presence.Topic) (e eval, weight int) {
	keys := j.store.keys(topic, "current", "old", "guests", "before", "aged", "listed", "names", "bots", "signed")
	return eval{viewsAgeScript, keys, []any{j.store.now(), j.period.Milliseconds()}}, lookCosts
}

func (j *ageJob) took(_ presence.Topic, answer []int64) time.Duration {
	if len(answer) < 2 {
		return lookAgain
	}
	turned, next := answer[0], answer[1]
	j.turned += int(turned)
	return time.Duration(next) * time.Millisecond
}

func (j *ageJob) more() bool { return true }
