package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// Counts implements [presence.Store].
func (s *Store) Counts(ctx context.Context, topics ...presence.Topic) ([]presence.Counts, error) {
	if err := s.ready(ctx, s.reads); err != nil {
		return nil, err
	}
	return call(ctx, s.reads, "counts", func(ctx context.Context) ([]presence.Counts, error) {
		type answers struct {
			head                                 *redis.StringCmd
			online, current, old, guests, listed *redis.IntCmd
		}
		asked := make([]answers, len(topics))
		_ = s.pipelined(ctx, func(p redis.Pipeliner) { // each answer has its own error
			for i, t := range topics {
				asked[i] = answers{
					p.Get(ctx, s.key(t, "head")),
					p.HLen(ctx, s.key(t, "users")),
					p.SCard(ctx, s.key(t, "current")),
					p.SCard(ctx, s.key(t, "old")),
					p.PFCount(ctx, s.keys(t, "guests", "before")...),
					p.ZCard(ctx, s.key(t, "listed")),
				}
			}
		})
		counts := make([]presence.Counts, len(topics))
		for i, a := range asked {
			err := errors.Join(a.guests.Err(), a.listed.Err(), a.online.Err(), a.current.Err(), a.old.Err())
			if !errors.Is(a.head.Err(), redis.Nil) {
				err = errors.Join(err, a.head.Err())
			}
			switch {
			case errors.Is(verdict(err), presence.ErrRefused): // of this topic alone
				counts[i].Unknown = true
				continue
			case err != nil:
				return nil, err
			}
			counts[i] = presence.Counts{
				Head:   presence.DiffID(a.head.Val()),
				Total:  int(a.online.Val()),
				Recent: int(a.current.Val() + a.old.Val()),
				Guests: guestsOf(int(a.listed.Val()), int(a.guests.Val())),
			}
			if counts[i].Head == "" {
				counts[i].Head = presence.Origin
			}
		}
		return counts, nil
	})
}

// Sightings implements [presence.Store].
func (s *Store) Sightings(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]presence.Sighting, error) {
	if err := s.ready(ctx, s.reads); err != nil {
		return nil, err
	}
	if len(users) == 0 {
		return []presence.Sighting{}, nil
	}
	ids := make([]string, len(users))
	for i, u := range users {
		ids[i] = string(u)
	}
	return call(ctx, s.reads, "sightings", func(ctx context.Context) ([]presence.Sighting, error) {
		var records *redis.SliceCmd
		var seen *redis.FloatSliceCmd
		err := s.pipelined(ctx, func(p redis.Pipeliner) {
			records = p.HMGet(ctx, s.key(topic, "users"), ids...)
			seen = p.ZMScore(ctx, s.key(topic, "seen"), ids...)
		})
		if err != nil {
			return nil, err
		}
		if len(records.Val()) != len(ids) || len(seen.Val()) != len(ids) {
			return nil, errAnswer
		}
		sightings := make([]presence.Sighting, len(users))
		for i, id := range ids {
			if record, ok := records.Val()[i].(string); ok {
				m, err := decodeRecord(id, record)
				if err != nil {
					return nil, err
				}
				sightings[i] = presence.Sighting{Online: true, Status: m.Status, Holders: holdersOf(record)}
			} else if at := seen.Val()[i]; at > 0 {
				sightings[i].LastSeen = time.UnixMilli(int64(at))
			}
		}
		return sightings, nil
	})
}
