package main

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A page waits for feeds for feedWait at most, and is then shown without them. A page's marks as read may take
// markTime.
const (
	feedWait = 50 * time.Millisecond
	markTime = 2 * time.Second
)

// checkAlone is how often a node without Redis looks for changes that other nodes made in the same database.
// No node announces its changes then. It is a query only after a change. With the second after which a node
// relays a message of another program, every page shows it within two.
const checkAlone = 750 * time.Millisecond

// newFeeds returns the keeper of inboxes and of the threads' posts, or nil without a database.
func newFeeds(config config, d *database, tracker *track.Tracker) (*feed.Keeper, error) {
	if d == nil {
		return nil, nil
	}
	c := feed.Config{MailAfter: config.mail.after}
	if config.redis == "" && config.sql != "" {
		c.Check = checkAlone
	}
	return feed.New(d.store.Feeds(), tracker, c)
}

// heads are the positions of feeds before a page read its posts. A nil field is unknown.
type heads struct{ room, inbox *feed.Head }

// headsFor returns the head of a thread's feed, and that of the reader's inbox. A page that continues from
// there misses no post, and marks nothing as read that it does not show. There is no inbox for a guest, and
// for a page that nobody looks at yet.
func (s *site) headsFor(c echo.Context, t thread) (h heads) {
	if s.feeds == nil {
		return h
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), feedWait)
	defer cancel()
	h.room = s.headOf(ctx, roomOf(t, tenantOf(c)))
	if presence.VisitorFromContext(ctx).SignedIn() && isLookedAt(c.Request()) {
		h.inbox = s.headOf(ctx, feed.Inbox(me(c)))
	}
	return h
}

// inboxHead returns the head of a member's inbox. It returns nil if that is unknown, or if nobody looks at the
// page yet.
func (s *site) inboxHead(c echo.Context) *feed.Head {
	if !isLookedAt(c.Request()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), feedWait)
	defer cancel()
	return s.headOf(ctx, feed.Inbox(me(c)))
}

// roomOf returns the feed of a tenant's thread.
func roomOf(t thread, tenant string) feed.Name { return feed.Name(t.Room()).In(tenant) }

func (s *site) headOf(ctx context.Context, n feed.Name) *feed.Head {
	head, err := s.feeds.Head(ctx, n)
	if err != nil {
		return nil
	}
	return &head
}

// isLookedAt reports whether the visitor sees the answer to a request now. A browser also fetches pages in
// advance, which the visitor may never open.
func isLookedAt(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Purpose") == "" && r.Header.Get("Purpose") == "" && r.Header.Get("X-Moz") == ""
}

// mark changes the reader's inbox because of the page that is shown. It waits for feedWait, so that the page
// shows the change; a slower change continues in the background.
func (s *site) mark(c echo.Context, m feed.Mark) {
	ctx := c.Request().Context()
	inbox := feed.Inbox(me(c))
	done := make(chan struct{})
	s.marking.Go(func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTime)
		defer cancel()
		_, _ = s.feeds.Mark(ctx, inbox, m) // if the database is unreachable, the keeper logs that
	})
	select {
	case <-done:
	case <-time.After(feedWait):
	}
}

// A muteButton mutes or unmutes a thread for the reader.
type muteButton struct{ Scope, How, Text string }

// muteButton returns the button for a thread. It returns nil for a guest, and if it is unknown whether the
// thread is muted.
func (s *site) muteButton(ctx context.Context, t thread) *muteButton {
	if s.feeds == nil || !presence.VisitorFromContext(ctx).SignedIn() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, feedWait)
	defer cancel()
	mutes, err := s.feeds.Mutes(ctx, inside(ctx, presence.VisitorFromContext(ctx).User.ID))
	if err != nil {
		return nil
	}
	scope := "about:" + string(t.Topic())
	for _, m := range mutes {
		if m.Scope == scope && m.How == feed.MuteAll {
			return &muteButton{scope, feed.MuteNothing.String(), "Unmute this thread"}
		}
	}
	return &muteButton{scope, feed.MuteAll.String(), "Mute this thread"}
}

// feedRoutes adds the routes that need feeds. Without a database they do not exist.
func (s *site) feedRoutes() {
	s.POST("/threads/:id/replies", s.addReply, ownForms, s.limited)
	read := []string{http.MethodGet, http.MethodHead}
	s.Match(read, "/threads/:id/posts/:n/edit", s.editPage)
	s.POST("/threads/:id/posts/:n/edit", s.savePost, ownForms, s.limited)
	s.Match(read, "/notifications", s.notificationsPage)
	s.POST("/notifications", s.changeNotifications, ownForms, s.limited)
	s.POST("/mutes", s.setMute, ownForms, s.limited)
}

// send puts messages into the outbox as part of a transaction.
func (d *database) send(ctx context.Context, tx sqlstore.Tx, ms ...feed.Message) error {
	return d.store.Feeds().SendTx(ctx, tx, ms...)
}
