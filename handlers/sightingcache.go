package handlers

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/track"
)

// sightingAge is how long the store's answer about a user is kept.
const sightingAge = time.Second

// maxSightings bounds the answers of the store that are kept for /users.
const maxSightings = 10_000

// A sightingCache keeps the store's answers about users who are not online for a short time. It keeps empty
// answers too; otherwise each request for unknown ids would reach the store. A timer drops old answers even if
// no request comes; it runs while there are answers.
type sightingCache struct {
	age time.Duration // how long an answer is valid: sightingAge, other values in tests

	mu    sync.Mutex
	timer *time.Timer // runs while answers are kept; nil: never started
	kept  *generations.Map[sightingKey, keptSighting]
}

func newSightingCache() *sightingCache {
	return &sightingCache{age: sightingAge, kept: generations.New[sightingKey, keptSighting](maxSightings, nil)}
}

type sightingKey struct {
	topic presence.Topic
	user  presence.UserID
}

type keptSighting struct {
	backend.Sighting
	at time.Time
}

// get returns the sightings of users in a topic, in the order of users. If the store does not
// answer, it returns its error, and zero values for users without a kept answer.
func (c *sightingCache) get(ctx context.Context, tracker *track.Tracker, topic presence.Topic, users []presence.UserID) ([]backend.Sighting, error) {
	all := make([]backend.Sighting, len(users))
	missing, at := c.lookUp(topic, users, all)
	if len(missing) == 0 {
		return all, nil
	}
	asked := time.Now()
	found, err := tracker.Sightings(ctx, topic, missing...)
	if err != nil {
		return all, err
	}
	for i, s := range found {
		all[at[i]] = s
	}
	c.keep(topic, missing, found, asked)
	return all, nil
}

// lookUp fills in the kept sightings. It returns the users without one, and their indexes.
func (c *sightingCache) lookUp(topic presence.Topic, users []presence.UserID, into []backend.Sighting) (missing []presence.UserID, at []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for i, user := range users {
		kept, ok := c.kept.Get(sightingKey{topic, user})
		if ok && now.Sub(kept.at) < c.age {
			into[i] = kept.Sighting
			continue
		}
		missing, at = append(missing, user), append(at, i)
	}
	return missing, at
}

// keep adds answers of the store. Their age counts from the question: a choice that a user has made since is
// not in them.
func (c *sightingCache) keep(topic presence.Topic, users []presence.UserID, found []backend.Sighting, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept.Len() == 0 && len(found) > 0 {
		c.startTimerLocked()
	}
	for i, s := range found {
		user := presence.UserID(strings.Clone(string(users[i]))) // without a copy the key would keep the whole request in memory
		c.kept.Set(sightingKey{topic, user}, keptSighting{s, asked})
	}
}

// startTimerLocked starts a timer that drops each answer within two ages.
func (c *sightingCache) startTimerLocked() {
	if c.timer != nil {
		c.timer.Reset(c.age)
		return
	}
	c.timer = time.AfterFunc(c.age, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.kept.Turn(); c.kept.Len() > 0 {
			c.timer.Reset(c.age)
		}
	})
}
