package redisstore

import (
	"context"
	"strconv"
	"strings"
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
	var kept *redis.SliceCmd
	err := s.send(ctx, s.reads, "statuses", func(ctx context.Context, p redis.Pipeliner) {
		kept = p.HMGet(ctx, s.statusKeys()[0], as[string](users)...)
	})
	if err != nil {
		return nil, err
	}
	for i, one := range kept.Val()[:min(len(kept.Val()), len(statuses))] {
		text, _ := one.(string)
		rev, status, _ := strings.Cut(text, " ")
		n, err := strconv.ParseInt(rev, 10, 64)
		if chosen, invalid := presence.ParseStatus(status); err == nil && invalid == nil {
			statuses[i] = backend.ChosenStatus{Status: chosen, Rev: n}
		}
	}
	return statuses, nil
}

// PutStatus implements [backend.Store].
func (s *fleet) PutStatus(ctx context.Context, user presence.UserID, c backend.ChosenStatus, again bool) (rev int64, err error) {
	r, err := s.numbers(ctx, s.writes, "put status", 0, eval{statusPutScript, s.statusKeys(), []any{s.now(), string(user), string(c.Status), c.Rev, again}})
	switch {
	case err != nil:
		return 0, err
	case len(r) == 0:
		return 0, wrap("put status", presence.ErrLaterChoice)
	}
	return r[0], nil
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
