package presence

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// SetStatus changes what others see of a user, in all topics and on every node.
// The choice lasts: it outlives sign-outs, restarts and, as long as a node knows it,
// the loss of the store. SetStatus returns when the store knows, as SignOut does.
// While the store is known to be out it returns [ErrStoreOut] at once: a status that
// cannot be told is not set.
func (t *Tracker) SetStatus(ctx context.Context, user UserID, status Status) error {
	if _, err := ParseStatus(string(status)); err != nil {
		return err
	}
	if t.writer.isOut() {
		return ErrStoreOut
	}
	user, status = UserID(strings.Clone(string(user))), Status(strings.Clone(string(status)))
	if err := t.tell(ctx, Notice{StatusOf: user, Status: status}); err != nil {
		return err
	}
	t.mu.Lock()
	t.learn(user, choice{status, time.Now()})
	t.mu.Unlock()
	return t.await(ctx, t.writer.addAcked(Site, Op{Kind: OpUpdate, User: User{ID: user, Status: status}}))
}

// Status returns the status that a user chose, or "" where this node knows of none.
// It asks nobody.
func (t *Tracker) Status(user UserID) Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, _ := t.statuses.known.get(user)
	return known.Status
}

// hearStatus shows the status that a user chose wherever this node holds the user.
func (t *Tracker) hearStatus(n Notice) {
	at := time.Now().Add(-n.Ago)
	t.mu.Lock()
	if was, _ := t.statuses.known.get(n.StatusOf); n.Ago > 0 && (was.at.After(at) || was.Status == n.Status) {
		t.mu.Unlock() // a newer one was set since, or it was heard before
		return
	}
	t.learn(n.StatusOf, choice{n.Status, at})
	t.said.outdate(n)
	mine := t.connections.of(n.StatusOf)
	topics := t.topicsOf(n.StatusOf)
	t.mu.Unlock()
	for _, r := range t.allReplicas() {
		if n.Status == Invisible {
			r.expectLeave(n.StatusOf)
		} else {
			r.cancelLeave(n.StatusOf)
		}
	}
	if n.Ago == 0 { // else a newer one may have been set that was not heard here
		topics[Site] = struct{}{} // a page view may be on its way
	}
	for _, c := range mine {
		c.wake() // it may wait for its own join
	}
	for topic := range topics {
		t.writer.add(topic, Op{Kind: OpUpdate, User: User{ID: n.StatusOf, Status: n.Status}})
	}
}

// learntAgo is how long ago a choice was made of which this node knows only that it was
// made: so long that any other choice is later.
const learntAgo = 24 * time.Hour

// retellChoices tells the store once more what this node knows of users' choices, because
// the store may have lost them, and then asks it, because this node may have missed
// later ones. Until then the known choices hold, so that no invisible user is shown.
// The node forgets which users chose nothing, and asks about them once more when the
// other nodes have had time to tell their choices.
func (t *Tracker) retellChoices() {
	t.mu.Lock()
	known := make(map[UserID]choice)
	for user, c := range t.statuses.known.all() {
		if c.Status == "" {
			t.statuses.known.delete(user)
		} else {
			known[user] = c
		}
	}
	t.statuses.askAfter = time.Now().Add(2 * restoreWait)
	t.mu.Unlock()
	t.spawn(func(ctx context.Context) {
		for user, c := range known {
			n := Notice{StatusOf: user, Status: c.Status, Ago: learntAgo}
			if !c.at.IsZero() {
				n.Ago = time.Since(c.at)
			}
			for t.store.Notify(ctx, n) != nil {
				if !wait(ctx, backoffLast) {
					return
				}
			}
		}
		for users := range slices.Chunk(slices.Collect(maps.Keys(known)), maxAsked) {
			kept, err := t.store.Statuses(ctx, users...)
			for i := range kept {
				if err == nil && kept[i] != "" && kept[i] != known[users[i]].Status {
					t.hearStatus(Notice{StatusOf: users[i], Status: kept[i]})
				}
			}
		}
	})
}
