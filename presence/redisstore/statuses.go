package redisstore

import (
	"context"
	"math"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Statuses implements [backend.Store].
func (s *fleet) Statuses(ctx context.Context, users ...presence.UserID) ([]backend.ChosenStatus, error) {
	statuses := make([]backend.ChosenStatus, len(users))
	if len(users) == 0 {
		return statuses, nil
	}
	var since *redis.FloatSliceCmd
	var chosen *redis.SliceCmd
	err := s.send(ctx, s.reads, "statuses", func(ctx context.Context, p redis.Pipeliner) {
		since = p.ZMScore(ctx, s.statusKeys()[1], textsOf(users)...) // read first: a status may then have a later order, but no earlier one
		chosen = p.HMGet(ctx, s.statusKeys()[0], textsOf(users)...)
	})
	if err != nil {
		return nil, err
	}
	for i, status := range chosen.Val()[:min(len(chosen.Val()), len(since.Val()), len(statuses))] {
		text, _ := status.(string)
		if chosen, err := presence.ParseStatus(text); err == nil {
			statuses[i] = backend.ChosenStatus{Status: chosen, Order: backend.Order(math.Round(since.Val()[i] * 1000))}
		}
	}
	return statuses, nil
}

// trimStatuses forgets statuses that were chosen long ago, a thousand at a time.
func (s *fleet) trimStatuses(ctx context.Context, keep time.Duration, most int) (forgotten int, err error) {
	for more := true; more; {
		e := eval{statusTrimScript, s.statusKeys(), []any{s.now(), keep.Milliseconds(), most, maxTrim}}
		r, err := s.numbers(ctx, s.writes, "trim", 2, e)
		if err != nil {
			return forgotten, err
		}
		forgotten += int(r[0])
		more = r[1] == 1
	}
	return forgotten, nil
}
