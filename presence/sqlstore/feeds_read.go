package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// A feedReader reads feeds, and what users have muted.
type feedReader struct{ *feedRows }

// Heads implements [feed.Store].
func (f *feedReader) Heads(ctx context.Context, names ...feed.Name) (heads []feed.Head, err error) {
	defer wrap(&err, "heads of feeds")
	return f.heads(ctx, names)
}

// Page implements [feed.Store].
func (f *feedReader) Page(ctx context.Context, n feed.Name, before int64, limit int) (h feed.Head, items []feed.Item, more bool, err error) {
	defer wrap(&err, "page of a feed")
	if before <= 0 {
		before = allPlaces
	}
	limit = max(limit, 0)
	if err := n.Validate(); err != nil {
		return h, nil, false, err
	}
	offset, err := f.db.clock.read(ctx)
	if err != nil {
		return h, nil, false, err
	}
	err = f.db.query(ctx, "feed_page", func(rows *sql.Rows) error {
		var i nullItem
		h, err = scanHead(rows, i.columns()...)
		if err == nil && i.pos.Valid {
			items = append(items, i.item(offset))
		}
		return err
	}, n.Tenant(), string(n.Local()), before, limit+1)
	if err != nil {
		return feed.Head{}, nil, false, err
	}
	if more = len(items) > limit; more {
		items = items[:limit]
	}
	return h, items, more, nil
}

// Changes implements [feed.Store].
func (f *feedReader) Changes(ctx context.Context, since ...feed.Since) (changes []feed.Change, err error) {
	defer wrap(&err, "changes of feeds")
	if len(since) > feed.MaxHeads {
		return nil, fmt.Errorf("%d feeds, and %d are allowed at once", len(since), feed.MaxHeads)
	}
	changes = make([]feed.Change, len(since))
	if len(since) == 0 {
		return changes, ctx.Err()
	}
	offset, err := f.db.clock.read(ctx)
	if err != nil {
		return nil, err
	}
	asked := make([][4]any, len(since))
	for i, s := range since {
		if err := s.Name.Validate(); err != nil {
			return nil, err
		}
		asked[i] = [4]any{s.Name.Tenant(), s.Name.Local(), s.Rev, bornOf(s)}
	}
	begun := make([]bool, len(since))
	err = f.db.query(ctx, "feed_changes", func(rows *sql.Rows) error {
		var nth int
		var i nullItem
		h, err := scanHead(rows, append([]any{&nth}, i.columns()...)...)
		if err != nil {
			return err
		}
		c := &changes[nth-1]
		begun[nth-1], c.Head = true, h
		if i.pos.Valid {
			c.Items = append(c.Items, i.item(offset))
		}
		return nil
	}, asJSON(asked), feed.MaxBehind)
	if err != nil {
		return nil, err
	}
	for i, s := range since {
		if c := &changes[i]; gap(s, c, begun[i]) {
			c.Gap, c.Items = true, nil
		}
	}
	return changes, nil
}

func bornOf(s feed.Since) int64 {
	if s.Born.IsZero() {
		return 0
	}
	return s.Born.UnixMilli()
}

// gap reports whether a reader needs a page (rule F8). A reader of a feed that had not begun needs none,
// because it has nothing.
func gap(s feed.Since, c *feed.Change, begun bool) bool {
	hadNothing := s.Rev == 0 && s.Born.IsZero()
	if !begun {
		return !hadNothing
	}
	return !hadNothing && !c.Head.Born.Equal(s.Born) || s.Rev > c.Head.Rev || s.Rev < c.Head.Floor || len(c.Items) > feed.MaxBehind
}

// A nullItem has the columns of an item, which may all be NULL.
type nullItem struct {
	pos, rev, v, at, others, n, mail, state sql.NullInt64
	seenAt, readAt                          sql.NullInt64
	id, typ, actors, about, grp, text, url  sql.NullString
	data                                    sql.NullString
}

func (i *nullItem) columns() []any {
	return []any{&i.pos, &i.rev, &i.id, &i.typ, &i.v, &i.at, &i.actors, &i.others, &i.n, &i.about, &i.grp, &i.text, &i.url, &i.data, &i.mail, &i.state, &i.seenAt, &i.readAt}
}

func (i *nullItem) item(offset time.Duration) feed.Item {
	item := feed.Item{
		Pos: i.pos.Int64, Rev: i.rev.Int64, ID: i.id.String, Type: i.typ.String, V: int(i.v.Int64), At: fromDatabase(i.at.Int64, offset),
		Actors: decodeActors(i.actors.String), Others: int(i.others.Int64), Count: int(i.n.Int64),
		About: i.about.String, Group: i.grp.String, Text: i.text.String, URL: i.url.String,
		Mail: feed.Mail(i.mail.Int64), State: feed.State(i.state.Int64), SeenAt: fromDatabase(i.seenAt.Int64, offset),
	}
	if i.data.Valid {
		item.Data = json.RawMessage(i.data.String)
	}
	if item.State != feed.Unread { // a node of an earlier version keeps the time when it marks an item as unread
		item.ReadAt = fromDatabase(i.readAt.Int64, offset)
	}
	return item
}

// Actors are stored as [["alice","Alice"]].

func encodeActors(actors []feed.Actor) string {
	pairs := make([][2]string, len(actors))
	for i, a := range actors {
		pairs[i] = [2]string{string(a.ID), a.Name}
	}
	return asJSON(pairs)
}

// decodeActors decodes actors. It returns none if that fails.
func decodeActors(text string) []feed.Actor {
	var pairs [][2]string
	if text == "[]" || json.Unmarshal([]byte(text), &pairs) != nil {
		return nil
	}
	actors := make([]feed.Actor, len(pairs))
	for i, p := range pairs {
		actors[i] = feed.Actor{ID: presence.UserID(p[0]), Name: p[1]}
	}
	return actors
}
