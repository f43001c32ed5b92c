package redisstore

import (
	"context"
	"math"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// statuses keep what users chose.
type statuses struct{ *fleet }

// Statuses implements [backend.Store].
func (s *statuses) Statuses(ctx context.Context, users ...presence.UserID) ([]backend.ChosenStatus, error) {
	statuses := make([]backend.ChosenStatus, len(users))
	if len(users) == 0 {
		return statuses, nil
	}
	if err := s.ready(ctx, s.reads); err != nil {
		return nil, err
	}
	ids := make([]string, len(users))
	for i, id := range users {
		ids[i] = string(id)
	}
	keys := s.statusKeys()
	return call(ctx, s.reads, "statuses", func(ctx context.Context) ([]backend.ChosenStatus, error) {
		var since *redis.FloatSliceCmd
		var chosen *redis.SliceCmd
		if err := s.pipelined(ctx, func(p redis.Pipeliner) {
			since = p.ZMScore(ctx, keys[1], ids...) // read first: a status may then have a later order, but no earlier one
			chosen = p.HMGet(ctx, keys[0], ids...)
		}); err != nil {
			return nil, err
		}
		for i, status := range chosen.Val()[:min(len(chosen.Val()), len(since.Val()), len(statuses))] {
			text, _ := status.(string)
			if chosen, err := presence.ParseStatus(text); err == nil {
				statuses[i] = backend.ChosenStatus{Status: chosen, Order: backend.Order(math.Round(since.Val()[i] * 1000))}
			}
		}
		return statuses, nil
	})
}

// trim forgets statuses that were chosen long ago, a thousand at a time.
func (s *statuses) trim(ctx context.Context, keep time.Duration, most int) (forgotten int, err error) {
	for more := true; more; {
		answer, err := s.runOne(ctx, s.writes, "trim", eval{statusTrimScript, s.statusKeys(), []any{s.now(), keep.Milliseconds(), most, maxTrim}})
		if err != nil {
			return forgotten, err
		}
		r, err := answer.Int64Slice()
		if err != nil || len(r) < 2 {
			return forgotten, wrap("trim", errAnswer)
		}
		forgotten += int(r[0])
		more = r[1] == 1
	}
	return forgotten, nil
}
