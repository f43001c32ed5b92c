package templates

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// A feedSource reads feeds. It is the site's feed.Keeper.
type feedSource interface {
	Head(ctx context.Context, n feed.Name) (feed.Head, error)
	Page(ctx context.Context, n feed.Name, before int64, limit int) (feed.Page, error)
	Cursor(n feed.Name, h feed.Head) presence.Cursor
	Text(i feed.Item) string
}

// hasFeeds reports whether the site has a Config.Feeds. If the tracker serves feeds nevertheless, the
// site has forgotten the field, and hasFeeds reports a finding.
func (ws *workshop) hasFeeds() bool {
	if ws.feeds == nil && ws.tracker.Serves(feed.InboxTopic) {
		ws.tracker.Found(presence.NoKeeper, "config", "templates.Config.Feeds")
	}
	return ws.feeds != nil
}
