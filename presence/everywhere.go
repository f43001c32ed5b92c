package presence

import (
	"context"
	"time"
)

// What concerns a user on every node: signing out, and status.

// SignOut ends all that holds a user online, on every node and at once:
// connections end with [ErrSignedOut]. It returns when the store knows, or with
// an error when ctx ends before; then it is done once the store is back.
func (t *Tracker) SignOut(ctx context.Context, user UserID) error {
	topics := t.signOutHere(user, 0)
	acks := make([]*ack, 0, len(topics))
	for topic := range topics {
		acks = append(acks, t.writer.addAcked(topic, Op{Kind: OpSignOut, User: User{ID: user}}))
	}
	if err := t.tell(ctx, Notice{SignedOut: user}); err != nil {
		return err
	}
	if err := t.await(ctx, acks...); err != nil {
		return err
	}
	t.awaitGone(ctx, user, topics)
	return nil
}

// signOutHere ends a user's connections here, those that were open some time ago,
// and returns the topics in which the user may be held: those, and that of the site.
func (t *Tracker) signOutHere(user UserID, ago time.Duration) map[Topic]struct{} {
	at := time.Now().Add(-ago)
	t.mu.Lock()
	if !t.statuses[user].at.After(at) {
		delete(t.statuses, user)
	}
	t.past.void(user, at)
	mine := t.connections.of(user)
	topics := map[Topic]struct{}{Site: {}}
	for _, topic := range t.past.topics(user, t.cfg.Grace) {
		topics[topic] = struct{}{}
	}
	t.mu.Unlock()
	again := false
	for _, c := range mine {
		if ago > 0 && c.openedAfter(at) {
			again = true // signed in since
			continue
		}
		for _, topic := range c.finish(ErrSignedOut, OpDrop) {
			topics[topic] = struct{}{}
		}
	}
	if !again {
		for _, r := range t.allReplicas() {
			r.goodbye(user)
		}
	}
	t.views.remove(user, topics, at)
	return topics
}

// SetStatus changes what others see of a user, in all topics and on every node.
// It returns when the store knows, as SignOut does. While the store is known to be
// out it returns [ErrStoreOut] at once: a status that cannot be told is not set.
func (t *Tracker) SetStatus(ctx context.Context, user UserID, status Status) error {
	if _, err := ParseStatus(string(status)); err != nil {
		return err
	}
	if t.writer.isOut() {
		return ErrStoreOut
	}
	if err := t.tell(ctx, Notice{StatusOf: user, Status: status}); err != nil {
		return err
	}
	return t.await(ctx, t.writer.addAcked(Site, Op{Kind: OpUpdate, User: User{ID: user, Status: status}}))
}

// slowStart is how long the first call takes of a store that may have been out.
const slowStart = 100 * time.Millisecond

// listen hears notices from now on, or from when the store is back.
func (t *Tracker) listen() {
	heard := make(chan func(), 1)
	try := func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, connectWait)
		defer cancel()
		stop, err := t.store.Listen(ctx, t.hear)
		if err == nil {
			heard <- stop
		}
		return err == nil
	}
	began := time.Now()
	known := try(t.life)
	own, _ := t.store.store.(StatsStore)
	if !known || time.Since(began) > slowStart || own != nil && own.Stats().Failed > 0 {
		t.writer.suspect() // what was before this node began, it cannot know
	}
	t.spawn(func(ctx context.Context) {
		for !known && wait(ctx, backoffLast) {
			known = try(ctx)
		}
		if known {
			<-ctx.Done()
			(<-heard)()
		}
	})
}

// hear takes a notice. It must not block.
func (t *Tracker) hear(n Notice) {
	switch {
	case n.SignedOut != "":
		topics := t.signOutHere(n.SignedOut, n.Ago)
		delete(topics, Site) // whoever sent the notice sees to it; the user may be back by now
		if n.Ago > 0 {       // and so anywhere: what is left is at most a grace
			return
		}
		for topic := range topics {
			t.writer.add(topic, Op{Kind: OpSignOut, User: User{ID: n.SignedOut}})
		}
	case n.Left != "":
		if c, _ := t.of(claim{id: n.Left}); c != nil && c.visitor.User.ID == n.LeftBy {
			c.Close()
		}
	case (n.Idle != "" || n.Attended != "") && n.Ago > 0: // a later beat tells it again
	case n.Idle != "":
		t.hearIdle(n.Idle)
	case n.Attended != "":
		t.hearAttended(n.Attended)
	case n.StatusOf != "":
		t.hearStatus(n)
	}
}

// hearStatus shows the status that a user chose wherever this node holds the user.
func (t *Tracker) hearStatus(n Notice) {
	at := time.Now().Add(-n.Ago)
	t.mu.Lock()
	if was := t.statuses[n.StatusOf]; n.Ago > 0 && (was.at.After(at) || was.Status == n.Status) {
		t.mu.Unlock() // a newer one was set since, or it was heard before
		return
	}
	if len(t.statuses) >= statusesMost {
		clear(t.statuses)
	}
	t.statuses[n.StatusOf] = statusSet{n.Status, at}
	t.said.outdate(n)
	mine := t.connections.of(n.StatusOf)
	topics := t.past.topics(n.StatusOf, t.cfg.Grace)
	t.mu.Unlock()
	for _, r := range t.allReplicas() {
		if n.Status == Invisible {
			r.goodbye(n.StatusOf)
		} else {
			r.stays(n.StatusOf)
		}
	}
	if n.Ago == 0 { // else a newer one may have been set that was not heard here
		topics = append(topics, Site) // a page view may be on its way
	}
	for _, c := range mine {
		topics = append(topics, c.heldTopics()...)
		c.wake() // it may wait for its own join
	}
	for _, topic := range topics { // the writer merges those that come twice
		t.writer.add(topic, Op{Kind: OpUpdate, User: User{ID: n.StatusOf, Status: n.Status}})
	}
}

// awaitGone waits until topics here no longer show a user, so that whoever signed
// out is not on the next page: a merge window at the most.
func (t *Tracker) awaitGone(ctx context.Context, user UserID, topics map[Topic]struct{}) {
	ctx, cancel := context.WithTimeout(ctx, 2*t.cfg.Merge)
	defer cancel()
	for _, r := range t.allReplicas() {
		if _, ok := topics[r.topic]; !ok {
			continue
		}
		for shown := true; shown; {
			view := r.view.Load()
			if view == nil || view.counting { // totals may lag
				break
			}
			if _, shown = view.Member(user); shown && !wait(ctx, t.cfg.Merge/10) {
				return
			}
		}
	}
}
