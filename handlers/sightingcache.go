package handlers

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// maxSightings bounds how many answers of the store are kept for /users.
const maxSightings = 10_000

// sightings keeps for a moment what the store said of users who are not online,
// also that it knows nothing of them: otherwise each request for unknown ids would
// reach the store. A timer forgets the answers, also where no more requests come; it
// runs while there are any. The zero value keeps nothing.
type sightings struct {
	age time.Duration // how long an answer is good; negative: it is not kept

	mu      sync.Mutex
	timer   *time.Timer // nil: nothing was kept yet
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
		if len(c.newer) >= maxSightings/2 {
			c.turn()
		}
		if c.newer == nil {
			c.newer = make(map[sightingKey]keptSighting)
			c.turnLater()
		}
		user := presence.UserID(strings.Clone(string(users[i]))) // not the whole request
		c.newer[sightingKey{topic, user}] = keptSighting{s, now}
	}
}

// turn forgets the earlier half. The caller holds mu.
func (c *sightings) turn() { c.earlier, c.newer = c.newer, nil }

// turnLater forgets the newer half once it has been the earlier one. The caller holds
// mu.
func (c *sightings) turnLater() {
	if c.timer != nil {
		c.timer.Reset(c.age)
		return
	}
	c.timer = time.AfterFunc(c.age, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.turn(); c.earlier != nil {
			c.timer.Reset(c.age)
		}
	})
}
