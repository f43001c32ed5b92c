package templates

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// What is remembered of last seen, and for how long.
const (
	maxSightings  = 4096             // users, also those who were never seen
	maxRoutes     = 256              // pages of which it is known whom they name
	maxAsked      = 200              // users that one page names, and one call of the store
	sightingsFor  = 30 * time.Second // then the store is asked again
	sightingsRest = time.Second      // before the store is asked again after it failed
)

// sightings remembers for a while when users were last seen, and whom pages name.
// Any number of goroutines may use it.
type sightings struct {
	tracker *presence.Tracker
	topic   presence.Topic

	mu       sync.Mutex
	latest   latest[presence.UserID, sighting]
	routes   latest[route, []presence.UserID]
	askAfter time.Time
}

type sighting struct {
	seen  time.Time // zero: unknown
	until time.Time // remembered
}

// A route is what a view is rendered for, again and again.
type route struct{ view, path string }

func newSightings(tracker *presence.Tracker, topic presence.Topic) *sightings {
	return &sightings{
		tracker: tracker, topic: topic,
		latest: latest[presence.UserID, sighting]{most: maxSightings},
		routes: latest[route, []presence.UserID]{most: maxRoutes},
	}
}

// get returns when a user was last seen, zero if that is not known. An older answer
// is better than none.
func (s *sightings) get(id presence.UserID) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, _ := s.latest.get(id)
	return last.seen
}

// missing reports whether the store is to be asked for one of the users.
func (s *sightings) missing(ids ...presence.UserID) bool {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.After(s.askAfter) && slices.ContainsFunc(ids, func(id presence.UserID) bool {
		last, ok := s.latest.get(id)
		return !ok || now.After(last.until)
	})
}

// ask asks the store for users, in one round trip.
func (s *sightings) ask(ctx context.Context, ids []presence.UserID) error {
	got, err := s.tracker.Sightings(ctx, s.topic, ids...)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if err != nil {
		if ctx.Err() == nil { // else the page waited no longer
			s.askAfter = now.Add(sightingsRest)
		}
		return err
	}
	for i, id := range ids {
		s.latest.put(id, sighting{got[i].LastSeen, now.Add(sightingsFor)})
	}
	return nil
}

// before returns whom a page named the last time.
func (s *sightings) before(r route) []presence.UserID {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids, _ := s.routes.get(r)
	return ids
}

// keep remembers whom a page names.
func (s *sightings) keep(r route, ids []presence.UserID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, _ := s.routes.get(r); !slices.Equal(before, ids) {
		s.routes.put(r, slices.Clone(ids))
	}
}

// latest is a map of bounded size, which forgets what was not asked for lately. Its
// zero value holds nothing.
type latest[K comparable, V any] struct {
	most       int
	young, old map[K]V // each of at most half of most
}

func (l *latest[K, V]) get(key K) (V, bool) {
	if v, ok := l.young[key]; ok {
		return v, true
	}
	v, ok := l.old[key]
	if ok {
		l.put(key, v)
	}
	return v, ok
}

func (l *latest[K, V]) put(key K, value V) {
	if l.young == nil || len(l.young) >= l.most/2 {
		l.old, l.young = l.young, make(map[K]V)
	}
	l.young[key] = value
}
