package templates

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
)

// Bounds of a lastSeenCache.
const (
	maxSeen    = 4096             // users, those who were never seen included
	maxAsked   = 200              // users in one call of the store
	seenFresh  = 30 * time.Second // until the store is asked again
	retryAfter = time.Second      // until the store is asked again after an error
)

// A lastSeenCache remembers for a while when users were last seen. It may be used
// concurrently.
type lastSeenCache struct {
	tracker *presence.Tracker
	topic   presence.Topic // without a tenant

	mu       sync.Mutex
	latest   *generations.Map[presence.UserID, seenEntry]
	askAfter time.Time
}

type seenEntry struct {
	seen  time.Time // zero: unknown
	until time.Time // when the store is to be asked again
}

func newLastSeenCache(tracker *presence.Tracker, topic presence.Topic) *lastSeenCache {
	return &lastSeenCache{tracker: tracker, topic: topic, latest: generations.New[presence.UserID, seenEntry](maxSeen, nil)}
}

// get returns when a user was last seen, zero if that is unknown. An answer that is older
// than seenFresh is returned too.
func (s *lastSeenCache) get(id presence.UserID) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, _ := s.latest.Use(id)
	return last.seen
}

// missing reports whether the store is to be asked for at least one of the users.
func (s *lastSeenCache) missing(ids ...presence.UserID) bool {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.After(s.askAfter) && slices.ContainsFunc(ids, func(id presence.UserID) bool {
		last, ok := s.latest.Use(id)
		return !ok || now.After(last.until)
	})
}

// ask asks the store for users, who are of one tenant, in one round trip.
func (s *lastSeenCache) ask(ctx context.Context, ids []presence.UserID) error {
	got, err := s.tracker.Sightings(ctx, s.topic.In(ids[0].Tenant()), ids...)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if err != nil {
		if ctx.Err() == nil { // otherwise the page stopped waiting
			s.askAfter = now.Add(retryAfter)
		}
		return err
	}
	for i, id := range ids {
		s.latest.Set(id, seenEntry{got[i].LastSeen, now.Add(seenFresh)})
	}
	return nil
}
