package presence

import (
	"context"
	"slices"
	"time"
)

// Whether somebody is at a page is of its connection; whether a user is away by
// that is of all the user's connections, on every node. So a node that hears of
// an idle page asks the others, and a user turns idle unless one of them knows
// of a page that is attended.

const (
	idleVeto    = time.Second     // how long the others may take to say that a user is attended
	attendedFor = 5 * time.Minute // how long that holds; then it is asked again
	maxAttended = 100_000         // users of whom it is remembered
)

// Attend takes a page's word on whether somebody is at it, with each of its beats.
// Once nobody is at any page of a user, on any node, a user who is [Online]
// turns [Idle], which others see as away, and [Online] with the first who
// attends again. A status that the user chose stays. It never waits for the store.
// It returns what Beat would of the token and the visitor: [ErrForeignToken], or nil.
func (t *Tracker) Attend(token Token, by Visitor, idle bool) error {
	c, err := t.read(token)
	if err != nil {
		return err
	}
	conn, _ := t.of(c)
	if len(c.topics) == 0 || c.refuses(by, conn) {
		return nil
	}
	if conn != nil {
		conn.idle.Store(idle)
	}
	t.attend(c.topics[0], c.user, idle)
	return nil
}

// attend tells the fleet where the word of a page differs from what a topic shows.
func (t *Tracker) attend(topic Topic, user UserID, idle bool) {
	switch shown := t.shown(topic, user); {
	case !idle && shown == Idle:
		t.ask(Notice{Kind: NoticeAttended, User: user})
	case idle && shown == Online && !t.attended(user):
		t.ask(Notice{Kind: NoticeIdle, User: user})
	}
}

// ask sends a notice behind the caller's back. One that is lost is told again
// by a later beat.
func (t *Tracker) ask(n Notice) {
	t.spawn(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, connectWait)
		defer cancel()
		_ = t.store.Publish(ctx, n)
	})
}

// hearIdle answers the question whether a user is attended, or takes silence for
// a no.
func (t *Tracker) hearIdle(user UserID) {
	if t.attended(user) {
		t.ask(Notice{Kind: NoticeAttended, User: user})
		return
	}
	t.spawn(func(ctx context.Context) {
		if wait(ctx, idleVeto) && !t.attended(user) {
			t.turn(user, Online, Idle)
		}
	})
}

// hearAttended notes that somebody is at a page of a user.
func (t *Tracker) hearAttended(user UserID) {
	t.mu.Lock()
	t.attendedAt.set(user, time.Now())
	t.mu.Unlock()
	t.turn(user, Idle, Online)
}

// attended reports whether somebody is at a page of a user here, or was at one
// anywhere a short while ago.
func (t *Tracker) attended(user UserID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.attendedAt.get(user); ok && time.Since(at) < attendedFor {
		return true
	}
	return slices.ContainsFunc(t.connections.of(user), func(c *Connection) bool { return c.holds() && !c.idle.Load() })
}

// turn changes a user's status from one to another wherever it is that, unless
// the user chose one that says more.
func (t *Tracker) turn(user UserID, from, to Status) {
	t.mu.Lock()
	chosen, _ := t.statuses.known.get(user)
	topics := t.topicsOf(user)
	t.mu.Unlock()
	if chosen.Status != "" && chosen.Status != Online {
		return
	}
	topics[Site] = struct{}{}
	for topic := range topics {
		if t.shown(topic, user) == from {
			t.writer.add(topic, Op{Kind: OpUpdate, User: User{ID: user, Status: to}})
		}
	}
}

// shown returns a user's status in a topic that is kept current here, or "".
func (t *Tracker) shown(topic Topic, user UserID) Status {
	t.mu.Lock()
	r := t.replicas[topic]
	t.mu.Unlock()
	if r == nil {
		return ""
	}
	if view := r.view.Load(); view != nil {
		if e := view.roster.get(user); e != nil {
			return e.Status
		}
	}
	return ""
}
