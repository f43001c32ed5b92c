package handlers

import (
	"context"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// maxSightings bounds how many answers of the store are kept for /users.
const maxSightings = 10_000

// sightings keeps for a moment what the store said of users who are not online,
// also that it knows nothing of them: otherwise each request for unknown ids would
// reach the store. The zero value keeps nothing.
type sightings struct {
	age time.Duration // how long an answer is good; negative: it is not kept

	mu      sync.Mutex
	begun   time.Time // when the newer half was begun
	newer   map[sightingKey]keptSighting
	earlier map[sightingKey]keptSighting
}

type sightingKey struct {
	topic presence.Topic
	user  presence.UserID
}

type keptSighting struct {
	presence.Sighting
	at time.Time
}

// of returns what is known of users in a topic, in their order. Where the store is
// out, it returns what is kept, and zero values for the rest.
func (c *sightings) of(ctx context.Context, tracker *presence.Tracker, topic presence.Topic, users []presence.UserID) []presence.Sighting {
	all := make([]presence.Sighting, len(users))
	missing, at := c.look(topic, users, all)
	if len(missing) == 0 {
		return all
	}
	found, err := tracker.Sightings(ctx, topic, missing...)
	if err != nil {
		return all
	}
	for i, s := range found {
		all[at[i]] = s
	}
	c.keep(topic, missing, found)
	return all
}

// look fills in the sightings that are kept, and returns the users of whom none is,
// with their places.
func (c *sightings) look(topic presence.Topic, users []presence.UserID, into []presence.Sighting) (missing []presence.UserID, at []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for i, user := range users {
		key := sightingKey{topic, user}
		kept, ok := c.newer[key]
		if !ok {
			kept, ok = c.earlier[key]
		}
		if ok && now.Sub(kept.at) < c.age {
			into[i] = kept.Sighting
			continue
		}
		missing, at = append(missing, user), append(at, i)
	}
	return missing, at
}

func (c *sightings) keep(topic presence.Topic, users []presence.UserID, found []presence.Sighting) {
	if c.age <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for i, s := range found {
		if c.newer == nil || len(c.newer) >= maxSightings/2 || now.Sub(c.begun) >= c.age {
			c.earlier, c.newer, c.begun = c.newer, make(map[sightingKey]keptSighting), now
		}
		c.newer[sightingKey{topic, users[i]}] = keptSighting{s, now}
	}
}
