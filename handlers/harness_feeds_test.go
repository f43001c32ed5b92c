package handlers_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A feedSite is a site with feeds in memory.
type feedSite struct {
	*site
	store  *feedtest.Memory
	keeper *feed.Keeper
}

// newFeedSite returns a site with feeds. Its rooms are feed:thread:1, which everybody may see,
// and feed:staff:1, which bob may see, unless o has another Authorize.
func newFeedSite(t *testing.T, o setup) *feedSite {
	t.Helper()
	f := &feedSite{store: feedtest.NewMemory()}
	if o.presence.Logger == nil {
		o.presence.Logger = slog.New(slog.DiscardHandler)
	}
	if o.handlers.Authorize == nil {
		o.handlers.Authorize = roomsAuthorize
	}
	o.feeds = func(tracker *track.Tracker) *feed.Keeper {
		store := feed.Store(f.store)
		if o.feedStore != nil {
			store = o.feedStore(store)
		}
		keeper, err := feed.New(store, tracker, feed.Config{})
		noError(t, err)
		t.Cleanup(func() { // after the tracker
			if err := keeper.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		f.keeper = keeper
		return keeper
	}
	f.site = newSite(t, o)
	return f
}

func roomsAuthorize(_ *http.Request, v presence.Visitor, t presence.Topic) bool {
	return t == "site" || t == "feed:thread:1" || t == "feed:staff:1" && v.User.ID == "bob"
}

// send puts messages with some texts into the inbox of a user, from dora.
func (f *feedSite) send(user presence.UserID, texts ...string) {
	f.t.Helper()
	for _, text := range texts {
		f.relay(feed.Message{To: []presence.UserID{user}, From: "dora", Type: "reply", About: "thread:1", Text: text})
	}
}

// post puts messages with some texts into a room.
func (f *feedSite) post(room feed.Name, texts ...string) {
	f.t.Helper()
	for _, text := range texts {
		f.relay(feed.Message{Feed: room, From: "dora", Text: text})
	}
}

func (f *feedSite) relay(m feed.Message) {
	f.t.Helper()
	if err := f.keeper.Send(f.t.Context(), m); err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.keeper.Relay(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// shows returns an event of a feed as a page shows it: its counters, and its items with their
// states.
func shows(e event) string {
	var b strings.Builder
	if e.data.Unread != nil && e.data.Unseen != nil {
		fmt.Fprintf(&b, "%d/%d", *e.data.Unread, *e.data.Unseen)
	}
	for _, i := range e.data.Items {
		b.WriteString(" " + i.Text)
		if i.State != "" && i.State != "unread" {
			b.WriteString(":" + i.State)
		}
	}
	return strings.TrimSpace(b.String())
}

// wantShown fails unless the next event of a listener that is no heartbeat has a type, and
// shows something.
func (l *listener) wantShown(typ, want string) event {
	l.t.Helper()
	e := l.want(typ)
	if got := shows(e); got != want {
		l.t.Errorf("got the %s %q of %s, want %q", typ, got, e.data.Topic, want)
	}
	return e
}

// A hanging store does not answer while it hangs, until the caller gives up.
type hanging struct {
	feed.Store
	hangs atomic.Bool
}

func (h *hanging) wait(ctx context.Context) error {
	if h.hangs.Load() {
		<-ctx.Done()
	}
	return ctx.Err()
}

func (h *hanging) Heads(ctx context.Context, names ...feed.Name) ([]feed.Head, error) {
	if err := h.wait(ctx); err != nil {
		return nil, err
	}
	return h.Store.Heads(ctx, names...)
}

func (h *hanging) Page(ctx context.Context, n feed.Name, before int64, limit int) (feed.Head, []feed.Item, bool, error) {
	if err := h.wait(ctx); err != nil {
		return feed.Head{}, nil, false, err
	}
	return h.Store.Page(ctx, n, before, limit)
}

func (h *hanging) Changes(ctx context.Context, since ...feed.Since) ([]feed.Change, error) {
	if err := h.wait(ctx); err != nil {
		return nil, err
	}
	return h.Store.Changes(ctx, since...)
}

func (h *hanging) Mark(ctx context.Context, n feed.Name, m feed.Mark) (feed.Head, error) {
	if err := h.wait(ctx); err != nil {
		return feed.Head{}, err
	}
	return h.Store.Mark(ctx, n, m)
}

func (h *hanging) Mute(ctx context.Context, user presence.UserID, m feed.Mute) error {
	if err := h.wait(ctx); err != nil {
		return err
	}
	return h.Store.Mute(ctx, user, m)
}

func (h *hanging) Mutes(ctx context.Context, user presence.UserID) ([]feed.Mute, error) {
	if err := h.wait(ctx); err != nil {
		return nil, err
	}
	return h.Store.Mutes(ctx, user)
}

// post returns a POST of JSON.
func post(path, user, body string) request {
	return request{method: http.MethodPost, path: path, user: user, body: body}
}

// unlimited is a Config without rates.
func unlimited() handlers.Config { return handlers.Config{MaxRate: -1} }
