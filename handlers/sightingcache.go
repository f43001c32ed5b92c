package handlers

import (
	"context"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/brief"
	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/track"
)

// answerAge is how long an answer of the store is kept.
const answerAge = time.Second

// Bounds of the answers of the store that are kept: about users, and pages of recent users.
const (
	maxSightings   = 10_000
	maxRecentPages = 1_000
)

// A sightingCache keeps the store's answers about users who are not online for a short time. It keeps empty
// answers too; otherwise each request for unknown ids would reach the store.
type sightingCache struct {
	*brief.Cache[sightingKey, backend.Sighting]
}

func newSightingCache() sightingCache {
	return sightingCache{brief.New[sightingKey, backend.Sighting](answerAge, maxSightings)}
}

type sightingKey struct {
	topic presence.Topic
	user  presence.UserID
}

// get returns the sightings of users in a topic, in the order of users. If the store does not answer, or if the
// visitor cannot pay for it, it returns an error, and zero values for users without a kept answer.
func (c sightingCache) get(ctx context.Context, tracker *track.Tracker, topic presence.Topic, users []presence.UserID) ([]backend.Sighting, error) {
	all := make([]backend.Sighting, len(users))
	var missing []presence.UserID
	var at []int
	for i, user := range users {
		known, ok := c.Get(sightingKey{topic, user})
		if all[i] = known; !ok {
			missing, at = append(missing, user), append(at, i)
		}
	}
	if len(missing) == 0 {
		return all, nil
	}
	if !gate.Pays(ctx, len(missing)*gate.Name) {
		return all, errTooManyRequests()
	}
	asked := time.Now()
	found, err := tracker.Sightings(ctx, topic, missing...)
	if err != nil {
		return all, err
	}
	for i, s := range found {
		all[at[i]] = s
		c.Set(sightingKey{topic, presence.UserID(strings.Clone(string(missing[i])))}, s, asked)
	}
	return all, nil
}
