package presence

import (
	"slices"
	"sync"
	"time"
)

// recentViews remembers the page views that this node recorded in the last age
// period, so that a store that lost them gets them back. It is bounded: over
// viewsMost, views are recorded and not remembered.
type recentViews struct {
	age time.Duration

	mu      sync.Mutex
	turned  time.Time
	current map[viewKey]view
	old     map[viewKey]view
}

type viewKey struct {
	topic Topic
	user  UserID
}

type view struct {
	user User
	at   time.Time
}

const viewsMost = 100_000

func (v *recentViews) add(topic Topic, user User) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if now.Sub(v.turned) >= v.age || v.current == nil {
		v.old, v.current, v.turned = v.current, make(map[viewKey]view), now
	}
	if len(v.current) < viewsMost {
		v.current[viewKey{topic, user.ID}] = view{user, now}
	}
}

// remove forgets a user's views of topics until a moment.
func (v *recentViews) remove(user UserID, topics map[Topic]struct{}, until time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for topic := range topics {
		key := viewKey{topic, user}
		for _, views := range []map[viewKey]view{v.old, v.current} {
			if !views[key].at.After(until) {
				delete(views, key)
			}
		}
	}
}

// live returns the views that still hold their users.
func (v *recentViews) live() map[viewKey]view {
	v.mu.Lock()
	defer v.mu.Unlock()
	live := make(map[viewKey]view)
	for _, views := range []map[viewKey]view{v.old, v.current} {
		for key, view := range views {
			if time.Since(view.at) < v.age {
				live[key] = view
			}
		}
	}
	return live
}

// restore puts back what is live on this node, after the store lost data: page
// views and connections, in the order in which they came, since rule 6 asks for
// it, and what was said lately. What the store has still is only renewed.
func (t *Tracker) restore() {
	t.mu.Lock()
	t.said.lost()
	t.mu.Unlock()
	type event struct {
		at  time.Time
		put func()
	}
	var events []event
	for key, view := range t.views.live() {
		left := t.cfg.Age - time.Since(view.at)
		events = append(events, event{view.at, func() {
			t.asNow(view.user, func(user User) { t.writer.add(key.topic, Op{Kind: OpSeen, User: user, For: left}) })
		}})
	}
	for _, c := range t.allConnections() {
		t.mu.Lock()
		opened := c.opened // zero: its join waits in the writer
		t.mu.Unlock()
		events = append(events, event{opened, func() {
			c.countGuest()
			for _, topic := range c.heldTopics() {
				c.rejoin(topic)
			}
		}})
	}
	slices.SortFunc(events, func(a, b event) int { return a.at.Compare(b.at) })
	for _, e := range events {
		e.put()
	}
}
