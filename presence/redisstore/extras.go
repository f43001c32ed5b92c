package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Extras implements [backend.Store].
func (s *fleet) Extras(ctx context.Context, topics ...presence.Topic) ([]backend.Extras, error) {
	if err := s.ready(ctx, s.reads); err != nil {
		return nil, err
	}
	return call(ctx, s.reads, "extras", func(ctx context.Context) ([]backend.Extras, error) {
		type answers struct {
			peak *redis.StringCmd
			bots *redis.MapStringStringCmd
		}
		asked := make([]answers, len(topics))
		_ = s.pipelined(ctx, func(p redis.Pipeliner) { // each answer has its own error
			for i, t := range topics {
				asked[i] = answers{p.Get(ctx, s.key(t, "peak")), p.HGetAll(ctx, s.key(t, "bots"))}
			}
		})
		extras := make([]backend.Extras, len(topics))
		for i, a := range asked {
			err := a.bots.Err()
			if !errors.Is(a.peak.Err(), redis.Nil) {
				err = errors.Join(err, a.peak.Err())
			}
			switch {
			case errors.Is(verdict(err), presence.ErrRefused): // it concerns this topic alone
				continue
			case err != nil:
				return nil, err
			}
			extras[i] = backend.Extras{Peak: decodePeak(a.peak.Val()), Bots: countBots(a.bots.Val())}
		}
		return extras, nil
	})
}

// decodePeak decodes "<total> <at> <since>", as lua/topic_kept.lua writes it. It returns no peak if that
// fails.
func decodePeak(text string) (p backend.Peak) {
	var at, since int64
	if _, err := fmt.Sscan(text, &p.Total, &at, &since); err != nil || p.Total < 0 {
		return backend.Peak{}
	}
	p.At, p.Since = moment(at), moment(since)
	return p
}

// countBots counts bots by name. Their values are "<when> <name>".
func countBots(bots map[string]string) map[string]int {
	if len(bots) == 0 {
		return nil
	}
	byName := make(map[string]int)
	for _, text := range bots {
		if _, name, ok := strings.Cut(text, " "); ok {
			byName[name]++
		}
	}
	return byName
}
