// Package lastseen remembers for a while when users were last seen, for pages.
package lastseen

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// MaxAsked is how many users one call of the store may name.
const MaxAsked = 200

// Bounds of a Cache.
const (
	maxSeen    = 4096             // users, those who were never seen included
	seenFresh  = 30 * time.Second // after this, the store is asked again
	seenHides  = time.Second      // the same on sites where users may hide when they were last seen (rule P6)
	retryAfter = time.Second      // after an error, the store is not asked for this long
)

// A Cache remembers for a while when users were last seen. It may be used
// concurrently.
type Cache struct {
	tracker *track.Tracker
	topic   presence.Topic // without a tenant
	fresh   time.Duration  // after this, the store is asked again
	forgets bool           // Get does not return an older answer

	mu       sync.Mutex
	latest   *generations.Map[presence.UserID, seenEntry]
	askAfter time.Time
}

type seenEntry struct {
	seen  time.Time // zero: unknown
	asked time.Time
}

// New returns a Cache of a tracker's users in a topic.
func New(tracker *track.Tracker, topic presence.Topic) *Cache {
	s := &Cache{tracker: tracker, topic: topic, fresh: seenFresh, latest: generations.New[presence.UserID, seenEntry](maxSeen, nil)}
	if tracker.Config().Directory != nil {
		s.fresh, s.forgets = seenHides, true
	}
	return s
}

// Get returns when a user was last seen, or zero if that is unknown. It also returns an answer that
// is no longer fresh, unless the site has a Directory: there the user may have hidden it since.
func (s *Cache) Get(id presence.UserID) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, _ := s.latest.Use(id)
	if s.forgets && time.Since(last.asked) >= s.fresh {
		return time.Time{}
	}
	return last.seen
}

// Missing reports whether the store should be asked about at least one of the users.
func (s *Cache) Missing(ids ...presence.UserID) bool {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.After(s.askAfter) && slices.ContainsFunc(ids, func(id presence.UserID) bool {
		last, ok := s.latest.Use(id)
		return !ok || now.Sub(last.asked) >= s.fresh
	})
}

// Ask asks the store when users were last seen, in one round trip. All users are of one tenant.
func (s *Cache) Ask(ctx context.Context, ids []presence.UserID) error {
	began := time.Now()
	got, err := s.tracker.Sightings(ctx, s.topic.In(ids[0].Tenant()), ids...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil { // otherwise the page stopped waiting
			s.askAfter = time.Now().Add(retryAfter)
		}
		return err
	}
	for i, id := range ids {
		s.latest.Set(id, seenEntry{got[i].LastSeen, began})
	}
	return nil
}
