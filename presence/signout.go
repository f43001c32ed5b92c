package presence

import (
	"context"
	"strings"
	"time"
)

// SignOut ends all that holds a user online, on every node and at once:
// connections end with [ErrSignedOut], and page views count no longer, in every topic.
// The status that the user chose stays chosen. SignOut returns when the store knows,
// or with an error when ctx ends before; then it is done once the store is back.
func (t *Tracker) SignOut(ctx context.Context, user UserID) error {
	user = UserID(strings.Clone(string(user)))
	topics := t.signOutHere(user, 0)
	// The nodes are told before the leases end: whoever finds a lease gone, and has
	// heard all notices, then knows why (see rejoinAll).
	told := t.tell(ctx, Notice{SignedOut: user})
	acks := make([]*ack, 0, len(topics))
	for topic := range topics {
		acks = append(acks, t.writer.addAcked(topic, Op{Kind: OpSignOut, User: User{ID: user}}))
	}
	if told != nil {
		return told
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
	t.past.void(user, at)
	mine := t.connections.of(user)
	topics := t.topicsOf(user)
	topics[Site] = struct{}{}
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
			r.expectLeave(user)
		}
	}
	t.views.remove(user, at)
	return topics
}

// topicsOf returns the topics in which this node may hold a user: by a page view, a
// connection, or the grace after one. The caller holds mu.
func (t *Tracker) topicsOf(user UserID) map[Topic]struct{} {
	topics := make(map[Topic]struct{})
	for _, topic := range t.views.topics(user) {
		topics[topic] = struct{}{}
	}
	for _, topic := range t.past.topics(user, t.cfg.Grace) {
		topics[topic] = struct{}{}
	}
	for _, c := range t.connections.of(user) {
		for _, topic := range c.heldTopics() {
			topics[topic] = struct{}{}
		}
	}
	return topics
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
			t.listening.Store(true)
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
	case n.Missed > 0:
		t.missed(n.Missed)
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

// hearAll returns once this node has heard every notice that was told before. A node
// that does not listen yet has heard nothing.
func (t *Tracker) hearAll(ctx context.Context) error {
	if !t.listening.Load() {
		return ErrStoreOut
	}
	return t.store.Hear(ctx)
}

// missed takes it that notices of some time were lost to this node. What other
// nodes told lately, they tell again (saidFor). Earlier sign-outs nobody tells
// again: the streams of users end, so that the pages come back and are identified,
// and page views that may be a signed-out user's are not put back.
func (t *Tracker) missed(ago time.Duration) {
	t.mu.Lock()
	t.said.lost()
	t.mu.Unlock()
	t.retellChoices()
	t.spawn(func(ctx context.Context) {
		try, cancel := context.WithTimeout(ctx, connectWait)
		defer cancel()
		_ = t.seal.agree(try)
	})
	if ago < saidFor {
		return
	}
	t.views.forget()
	for _, c := range t.allConnections() {
		if c.holds() || c.visitor.SignedIn() {
			c.finish(ErrStale, OpRelease)
		}
	}
}

// awaitGone waits until topics here no longer show a user, so that whoever signed
// out is not on the next page: a merge window at the most.
func (t *Tracker) awaitGone(ctx context.Context, user UserID, topics map[Topic]struct{}) {
	ctx, cancel := context.WithTimeout(ctx, 2*t.cfg.MergeWindow)
	defer cancel()
	for _, r := range t.allReplicas() {
		if _, ok := topics[r.out.topic]; !ok {
			continue
		}
		for shown := true; shown; {
			view := r.view.Load()
			if view == nil || view.counting { // totals may lag
				break
			}
			if _, shown = view.Member(user); shown && !wait(ctx, t.cfg.MergeWindow/10) {
				return
			}
		}
	}
}
