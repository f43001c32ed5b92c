package presence

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// recentViews remembers the page views that this node recorded in the last age
// period, so that a store that lost them gets them back. When it is full, it forgets
// the oldest: those are recorded all the same, and lost with the store.
type recentViews struct {
	age time.Duration

	mu     sync.Mutex
	turned time.Time
	byUser *recollection[UserID, []view] // of one user, one a topic, the latest last
}

// A view is the latest page view of a user in a topic.
type view struct {
	topic Topic
	user  User
	at    time.Time
}

const (
	maxViewers     = 100_000 // users whose views are remembered
	maxViewsTopics = 16      // of one user
)

func newRecentViews(age time.Duration, forgotten func(int)) *recentViews {
	return &recentViews{age: age, byUser: newRecollection[UserID, []view](maxViewers, forgotten)}
}

func (v *recentViews) add(topic Topic, user User, at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if at.Sub(v.turned) >= v.age {
		v.byUser.turn()
		v.turned = at
	}
	views, _ := v.byUser.get(user.ID)
	switch i := slices.IndexFunc(views, func(w view) bool { return w.topic == topic }); {
	case i >= 0:
		views = slices.Delete(views, i, i+1)
	case len(views) >= maxViewsTopics:
		views = slices.Delete(views, 0, 1)
	}
	v.byUser.set(user.ID, append(views, view{topic, user, at}))
}

// topics returns where a user viewed a page lately.
func (v *recentViews) topics(user UserID) []Topic {
	v.mu.Lock()
	defer v.mu.Unlock()
	views, _ := v.byUser.get(user)
	topics := make([]Topic, len(views))
	for i, w := range views {
		topics[i] = w.topic
	}
	return topics
}

// remove forgets a user's views until a moment.
func (v *recentViews) remove(user UserID, until time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	views, _ := v.byUser.get(user)
	if views = slices.DeleteFunc(views, func(w view) bool { return !w.at.After(until) }); len(views) == 0 {
		v.byUser.delete(user)
	} else {
		v.byUser.set(user, views)
	}
}

// forget forgets every view.
func (v *recentViews) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.byUser.turn()
	v.byUser.turn()
}

// live calls each with every view that still holds its user.
func (v *recentViews) live(each func(view)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, views := range v.byUser.all() {
		for _, w := range views {
			if time.Since(w.at) < v.age {
				each(w)
			}
		}
	}
}

// restore tells a store that lost data what it may have lost of this node, in the
// order in which it happened, since rule 6 asks for it: page views, connections,
// those that ended lately, and what was said. What the store has still is only
// renewed. It hears all notices first, so that nobody is put back who signed out,
// and returns an error where it cannot.
func (t *Tracker) restore(ctx context.Context) error {
	if err := t.hearAll(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	t.said.lost()
	t.mu.Unlock()
	_ = t.seal.agree(ctx) // or the next look finds out
	var events []happening
	t.views.live(func(w view) {
		events = append(events, happening{w.at, func() {
			if !t.hasLeft(w.topic, w.user) {
				t.viewed(w.topic, w.user, w.at)
			}
		}})
	})
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
		for key, e := range t.past.ended.all() {
			events = append(events, happening{e.at, func() { t.endAgain(key, e) }})
		}
		t.mu.Unlock()
	}
	slices.SortFunc(events, func(a, b happening) int { return a.at.Compare(b.at) })
	for _, e := range events {
		e.put()
	}
	return nil
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
	r := t.replicas[topic]
	chosen, _ := t.statuses.known.get(user.ID)
	t.mu.Unlock()
	return r != nil && cmp.Or(user.Status, chosen.Status) != Invisible && !r.has(user.ID)
}
