package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// snapshotSmall is the largest roster that is read by one script; a larger one
// is read piece by piece.
const snapshotSmall = 1000

// Snapshot implements [presence.Store]. A roster of up to 1,000 costs one round
// trip. A larger one is scanned in pieces while it changes, and then what
// happened since the scan began is replayed from the log: no script is long,
// and the result is exact.
func (s *Store) Snapshot(ctx context.Context, topic presence.Topic) (snap presence.Snapshot, err error) {
	err = s.call(ctx, "snapshot", func(ctx context.Context) error {
		e := &eval{script: snapshotScript, keys: s.keys(topic, "online", "users", "meta"), args: []any{snapshotSmall}}
		if err := s.run(ctx, e); err != nil {
			return err
		}
		r, err := e.cmd.Slice()
		if err != nil {
			return err
		}
		snap.ID = presence.DiffID(fmt.Sprint(r[0]))
		online, _ := r[1].(int64)
		roster := make(map[presence.UserID]presence.Member, online)
		switch {
		case len(r) > 2:
			for f := r[2:]; len(f) >= 3; f = f[3:] {
				add(roster, fmt.Sprint(f[0]), fmt.Sprint(f[1]), f[2])
			}
		case online > 0:
			if err := s.scan(ctx, topic, roster); err != nil {
				return err
			}
			if snap.ID, err = s.replay(ctx, topic, snap.ID, roster); err != nil {
				return err
			}
		}
		snap.Members = make([]presence.Member, 0, len(roster))
		for _, m := range roster {
			snap.Members = append(snap.Members, m)
		}
		slices.SortFunc(snap.Members, presence.NewestFirst)
		return nil
	})
	return snap, err
}

// add puts a member into a roster; one without a profile left meanwhile.
func add(roster map[presence.UserID]presence.Member, id, since string, stored any) {
	text, ok := stored.(string)
	if !ok {
		return
	}
	score, _ := strconv.ParseFloat(since, 64)
	roster[presence.UserID(id)] = presence.Member{User: decodeUser(id, text), Since: time.UnixMilli(int64(score))}
}

// scan reads a roster in pieces, each at another moment.
func (s *Store) scan(ctx context.Context, topic presence.Topic, roster map[presence.UserID]presence.Member) error {
	for cursor := uint64(0); ; {
		part, next, err := s.client.ZScan(ctx, s.key(topic, "online"), cursor, "", snapshotSmall).Result()
		if err != nil {
			return err
		}
		ids := make([]string, 0, len(part)/2)
		for i := 0; i < len(part); i += 2 {
			ids = append(ids, part[i])
		}
		if len(ids) > 0 {
			profiles, err := s.client.HMGet(ctx, s.key(topic, "users"), ids...).Result()
			if err != nil {
				return err
			}
			for i, id := range ids {
				add(roster, id, part[2*i+1], profiles[i])
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// replay applies what happened since a version, and returns the latest.
func (s *Store) replay(ctx context.Context, topic presence.Topic, from presence.DiffID, roster map[presence.UserID]presence.Member) (presence.DiffID, error) {
	diffs, err := s.log(ctx, topic, from)
	for _, d := range diffs {
		for _, m := range append(d.Joins, d.Updates...) {
			roster[m.ID] = m
		}
		for _, l := range d.Leaves {
			delete(roster, l.ID)
		}
		from = d.ID
	}
	return from, err
}

// Log implements [presence.Store]. It costs one round trip, two where the id is
// not in the log.
func (s *Store) Log(ctx context.Context, topic presence.Topic, after presence.DiffID) (diffs []presence.Diff, err error) {
	var gap bool
	err = s.call(ctx, "log", func(ctx context.Context) error {
		diffs, err = s.log(ctx, topic, after)
		if gap = errors.Is(err, presence.ErrGap); gap {
			return nil // an answer, and no failure
		}
		return err
	})
	if gap {
		return nil, presence.ErrGap
	}
	return diffs, err
}

func (s *Store) log(ctx context.Context, topic presence.Topic, after presence.DiffID) ([]presence.Diff, error) {
	key := s.key(topic, "log")
	if after != "" && after != presence.Origin {
		if !streamID(string(after)) {
			return nil, presence.ErrGap
		}
		found, err := s.client.XRange(ctx, key, string(after), "+").Result()
		if err != nil {
			return nil, err
		}
		if len(found) > 0 && found[0].ID == string(after) {
			return decodeLog(found[1:])
		}
	}
	all, err := s.client.XRange(ctx, key, "-", "+").Result()
	if err != nil {
		return nil, err
	}
	diffs, err := decodeLog(all)
	switch {
	case err != nil || after == "":
		return diffs, err
	case len(diffs) > 0 && diffs[0].Prev == after: // the log was cut right after it
		return diffs, nil
	case len(diffs) == 0 && after == presence.Origin:
		return nil, nil
	}
	return nil, presence.ErrGap
}

// streamID reports whether an id may be asked of a stream.
func streamID(id string) bool {
	ms, n, ok := strings.Cut(id, "-")
	_, err := strconv.ParseUint(ms, 10, 64)
	_, err2 := strconv.ParseUint(n, 10, 64)
	return ok && err == nil && err2 == nil
}

func decodeLog(entries []redis.XMessage) ([]presence.Diff, error) {
	diffs := make([]presence.Diff, 0, len(entries))
	for _, e := range entries {
		text, _ := e.Values["d"].(string)
		d, err := decodeDiff(e.ID, text)
		if err != nil {
			return nil, err
		}
		diffs = append(diffs, d)
	}
	return diffs, nil
}

// A wireDiff is what lua/topic.lua writes.
type wireDiff struct {
	Prev    presence.DiffID `json:"p"`
	Total   int             `json:"t"`
	Joins   [][3]string     `json:"j"` // user, since, profile
	Updates [][3]string     `json:"u"`
	Leaves  [][2]string     `json:"l"` // user, last seen
}

func decodeDiff(id, text string) (presence.Diff, error) {
	var w wireDiff
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return presence.Diff{}, fmt.Errorf("diff %s: %w", id, err)
	}
	d := presence.Diff{ID: presence.DiffID(id), Prev: w.Prev, Total: w.Total}
	for _, j := range w.Joins {
		d.Joins = append(d.Joins, presence.Member{User: decodeUser(j[0], j[2]), Since: fromMillis(j[1])})
	}
	for _, u := range w.Updates {
		d.Updates = append(d.Updates, presence.Member{User: decodeUser(u[0], u[2]), Since: fromMillis(u[1])})
	}
	for _, l := range w.Leaves {
		d.Leaves = append(d.Leaves, presence.Departure{ID: presence.UserID(l[0]), LastSeen: fromMillis(l[1])})
	}
	return d, nil
}

// Counts implements [presence.Store].
func (s *Store) Counts(ctx context.Context, topics ...presence.Topic) ([]presence.Counts, error) {
	counts := make([]presence.Counts, len(topics))
	err := s.call(ctx, "counts", func(ctx context.Context) error {
		type answers struct {
			head                         *redis.StringCmd
			online, current, old, guests *redis.IntCmd
		}
		asked := make([]answers, len(topics))
		_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error { // each answer has its own error
			for i, t := range topics {
				asked[i] = answers{
					p.HGet(ctx, s.key(t, "meta"), "head"),
					p.ZCard(ctx, s.key(t, "online")),
					p.SCard(ctx, s.key(t, "current")),
					p.SCard(ctx, s.key(t, "old")),
					p.PFCount(ctx, s.keys(t, "guests", "before")...),
				}
			}
			return nil
		})
		for i, a := range asked {
			if a.head.Err() != nil && !errors.Is(a.head.Err(), redis.Nil) {
				return a.head.Err()
			}
			if a.guests.Err() != nil {
				return a.guests.Err()
			}
			counts[i] = presence.Counts{
				Head:   presence.DiffID(a.head.Val()),
				Total:  int(a.online.Val()),
				Recent: int(a.current.Val() + a.old.Val()),
				Guests: int(a.guests.Val()),
			}
			if counts[i].Head == "" {
				counts[i].Head = presence.Origin
			}
		}
		return nil
	})
	return counts, err
}

// Sightings implements [presence.Store].
func (s *Store) Sightings(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]presence.Sighting, error) {
	sightings := make([]presence.Sighting, len(users))
	if len(users) == 0 {
		return sightings, nil
	}
	ids := make([]string, len(users))
	for i, u := range users {
		ids[i] = string(u)
	}
	err := s.call(ctx, "sightings", func(ctx context.Context) error {
		var online, seen *redis.FloatSliceCmd
		var profiles *redis.SliceCmd
		_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			online = p.ZMScore(ctx, s.key(topic, "online"), ids...)
			profiles = p.HMGet(ctx, s.key(topic, "users"), ids...)
			seen = p.ZMScore(ctx, s.key(topic, "seen"), ids...)
			return nil
		})
		if err != nil {
			return err
		}
		for i, id := range ids {
			stored, ok := profiles.Val()[i].(string)
			if online.Val()[i] > 0 && ok {
				sightings[i] = presence.Sighting{Online: true, Status: decodeUser(id, stored).Status}
			} else if at := seen.Val()[i]; at > 0 {
				sightings[i].LastSeen = time.UnixMilli(int64(at))
			}
		}
		return nil
	})
	return sightings, err
}
