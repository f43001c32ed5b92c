package templates

import (
	"context"
	"html/template"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// How the store is asked for last seen: a page may name fifty users who are
// away, and must be fast also when the store is not.
const (
	sightingsMost = 4096                  // users remembered
	sightingsFor  = 30 * time.Second      // and for how long
	sightingsWait = 50 * time.Millisecond // for an answer
	sightingsRest = time.Second           // before the store is asked again after it failed
)

// sightings remembers for a while when users were last seen.
type sightings struct {
	tracker *presence.Tracker
	topic   presence.Topic

	mu       sync.Mutex
	latest   map[presence.UserID]sighting
	askAfter time.Time
}

type sighting struct {
	seen  time.Time // zero: unknown
	until time.Time // remembered
}

func newSightings(tracker *presence.Tracker, topic presence.Topic) *sightings {
	return &sightings{tracker: tracker, topic: topic, latest: make(map[presence.UserID]sighting)}
}

// get returns when a user was last seen, zero if that is not known. It costs
// one round trip where it is not remembered, and none while the store is out:
// then an older answer is better than none.
func (s *sightings) get(ctx context.Context, id presence.UserID) time.Time {
	now := time.Now()
	s.mu.Lock()
	last, ok := s.latest[id]
	ask := (!ok || now.After(last.until)) && now.After(s.askAfter)
	s.mu.Unlock()
	if !ask {
		return last.seen
	}
	patient, cancel := context.WithTimeout(ctx, sightingsWait)
	defer cancel()
	got, err := s.tracker.Sightings(patient, s.topic, id)

	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil { // else the visitor left
			s.askAfter = now.Add(sightingsRest)
		}
		return last.seen
	}
	if len(s.latest) >= sightingsMost {
		clear(s.latest)
	}
	s.latest[id] = sighting{got[0].LastSeen, now.Add(sightingsFor)}
	return got[0].LastSeen
}

// lastSeen renders when a user was last seen: empty if that is not known.
func (k *kit) lastSeen(ctx context.Context, t known, id presence.UserID) (template.HTML, error) {
	if _, online := t.member(id); online {
		return template.HTML(template.HTMLEscapeString(k.cfg.Texts.OnlineNow)), nil
	}
	seen := k.seen.get(ctx, id)
	if seen.IsZero() {
		return "", nil
	}
	seen = seen.UTC()
	return k.execute("seen", struct{ Datetime, Title, Text string }{
		seen.Format(time.RFC3339), seen.Format("2006-01-02 15:04 UTC"), k.ago(time.Since(seen)),
	})
}

// ago says how long something is past.
func (k *kit) ago(d time.Duration) string {
	texts := k.cfg.Texts
	switch {
	case d < time.Minute:
		return texts.JustNow
	case d < time.Hour:
		return k.locale.text(texts.Minutes, int(d/time.Minute))
	case d < 24*time.Hour:
		return k.locale.text(texts.Hours, int(d/time.Hour))
	}
	return k.locale.text(texts.Days, int(d/(24*time.Hour)))
}
