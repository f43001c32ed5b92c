package track

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// set publishes a user's choice, and then writes it in the topics in which this node may hold or shows the user, and
// in the site's.
func (c *choices) set(ctx context.Context, user presence.UserID, status presence.Status) error {
	if _, err := presence.ParseStatus(string(status)); err != nil {
		return err
	}
	if c.outage.latestFailed() {
		return presence.ErrStoreOut
	}
	user, status = presence.UserID(strings.Clone(string(user))), presence.Status(strings.Clone(string(status)))
	topics := c.where.writtenHere(user, siteOf(user))
	n, err := c.publish(ctx, backend.StatusNotice(user, status))
	if err != nil {
		return err
	}
	c.awaitHeard(ctx)
	return c.adopt(ctx, user, topics, 1, func(was choice, known bool) (choice, bool) {
		if known && was.order > n.Order {
			return was, false // this choice, or a later one, was heard already
		}
		return choice{Status: status, at: time.Now(), order: n.Order + 1}, true // the notice brings its final order later
	})
}

// publish publishes a choice that replaces the latest one, even if this node does not know that yet. If the
// caller gives up, the choice replaces none that was made since (rule 13).
func (c *choices) publish(ctx context.Context, n backend.Notice) (backend.Notice, error) {
	n.Order = c.users.choiceOf(n.User).order
	for {
		err := c.notices.publish(ctx, n)
		if !errors.Is(err, presence.ErrLaterChoice) {
			return n, err
		}
		kept, err := c.kept(ctx, []presence.UserID{n.User})
		if err != nil {
			return n, storeOut(err)
		}
		n.Order = max(n.Order, kept[0].Order)
	}
}

// awaitHeard waits until this node has heard its own choice, in order with those of other nodes.
func (c *choices) awaitHeard(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	_ = c.notices.hearAll(ctx)
}

// hear remembers the status that a user chose, and writes it in the topics in which this node holds the user.
func (c *choices) hear(n backend.Notice) {
	if c.directory.on() { // it comes from a node without a Directory
		c.askAgain(n.User)
		return
	}
	heard := choice{Status: n.Status(), at: time.Now().Add(-n.Ago), order: n.Order}
	c.take(n.User, func(was choice, _ bool) (choice, bool) { return heard, heard.order > was.order })
}

// setStatus is [Tracker.SetStatus].
func (c *choices) setStatus(ctx context.Context, user presence.UserID, status presence.Status) error {
	if c.directory.on() {
		return c.changeSettings(ctx, user, func(s *presence.Settings) error {
			s.Status, s.Until, s.Text = status, time.Time{}, ""
			_, err := presence.ParseStatus(string(status))
			return err
		})
	}
	return c.set(ctx, user, status)
}
