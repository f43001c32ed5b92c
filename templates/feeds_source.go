package templates

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// A feedSource is where feeds come from: the site's Keeper.
type feedSource interface {
	Head(ctx context.Context, n feed.Name) (feed.Head, error)
	Page(ctx context.Context, n feed.Name, before int64, limit int) (feed.Page, error)
	Cursor(n feed.Name, h feed.Head) presence.Cursor
	Text(i feed.Item) string
}
