package presence

import (
	"cmp"
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

// restore tells a store that lost data what it may have lost of this node, in the
// order in which it happened, since rule 6 asks for it: page views, connections,
// those that ended lately, and what was said. What the store has still is only
// renewed.
func (t *Tracker) restore() {
	t.mu.Lock()
	t.said.lost()
	t.mu.Unlock()
	var events []happening
	for key, view := range t.views.live() {
		if t.hasLeft(key.topic, view.user) {
			continue
		}
		left := t.cfg.Age - time.Since(view.at)
		events = append(events, happening{view.at, func() {
			t.asNow(view.user, func(user User) { t.writer.add(key.topic, Op{Kind: OpSeen, User: user, For: left}) })
		}})
	}
	for _, c := range t.allConnections() {
		t.mu.Lock()
		opened := c.opened // zero: its join waits in the writer
		t.mu.Unlock()
		events = append(events, happening{opened, func() {
			c.countGuest()
			for _, topic := range c.heldTopics() {
				c.rejoin(topic)
			}
		}})
	}
	if !t.catchesUp() { // else they expired, as did those that others are about to renew
		t.mu.Lock()
		for key, e := range t.past.ended {
			events = append(events, happening{e.at, func() { t.endAgain(key, e) }})
		}
		t.mu.Unlock()
	}
	slices.SortFunc(events, func(a, b happening) int { return a.at.Compare(b.at) })
	for _, e := range events {
		e.put()
	}
}

// A happening is something to tell the store again.
type happening struct {
	at  time.Time
	put func()
}

// endAgain ends a lease that may be there again, and holds its user for what is
// left of the grace.
func (t *Tracker) endAgain(key leaseKey, e ending) {
	grace := t.cfg.Grace - time.Since(e.at)
	if grace <= 0 {
		e.kind = OpDrop
	}
	t.writer.add(key.topic, releaseOf(e.user, key.holder, e.kind, grace))
}

// hasLeft reports whether the user of a page view that would still hold is known
// to be gone: it held no longer when a stream closed, on whichever node.
func (t *Tracker) hasLeft(topic Topic, user User) bool {
	t.mu.Lock()
	r, status := t.replicas[topic], cmp.Or(user.Status, t.statuses[user.ID].Status)
	t.mu.Unlock()
	return r != nil && status != Invisible && !r.has(user.ID)
}
