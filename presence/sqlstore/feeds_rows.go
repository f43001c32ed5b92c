package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// feedRows reads and locks the heads of feeds. Each part of Feeds has it.
type feedRows struct{ db *database }

func (f *feedRows) heads(ctx context.Context, names []feed.Name) ([]feed.Head, error) {
	if len(names) > feed.MaxHeads {
		return nil, fmt.Errorf("%d feeds, and %d are allowed at once", len(names), feed.MaxHeads)
	}
	heads := make([]feed.Head, len(names))
	if len(names) == 0 {
		return heads, ctx.Err()
	}
	if err := checkNames(names); err != nil {
		return nil, err
	}
	if len(names) == 1 {
		var err error
		heads[0], err = f.head(ctx, names[0])
		return heads, err
	}
	asked := make([][2]string, len(names))
	for i, n := range names {
		asked[i] = [2]string{n.Tenant(), string(n.Local())}
	}
	err := f.db.query(ctx, "feed_heads", func(rows *sql.Rows) error {
		var nth int
		h, err := scanHead(rows, &nth)
		if err == nil {
			heads[nth-1] = h
		}
		return err
	}, asJSON(asked))
	return heads, err
}

// head returns one head, or the zero one of a feed that has not begun.
func (f *feedRows) head(ctx context.Context, n feed.Name) (feed.Head, error) {
	h, err := scanHead(f.db.pool.QueryRowContext(ctx, f.db.texts["feed_head"], n.Tenant(), string(n.Local())))
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return h, err
}

// A row is one row of a result.
type row interface{ Scan(...any) error }

// scanHead reads a feed's head, which follows the feed's name, and the remaining columns of the row. The time
// when a feed began is not translated by the clock, because it must be the same on every node.
func scanHead(r row, more ...any) (h feed.Head, err error) {
	var name string
	var born int64
	err = r.Scan(append([]any{&name, &h.Rev, &h.Pos, &h.Floor, &born, &h.Unread, &h.Unseen}, more...)...)
	if err != nil {
		return feed.Head{}, err
	}
	h.Born = time.UnixMilli(born).UTC()
	return h, nil
}

// checkNames returns nil, or an error that is feed.ErrInvalidName. Invalid names are not sent to the
// database: PostgreSQL cannot store a byte 0.
func checkNames(names []feed.Name) error {
	for _, n := range names {
		if err := n.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// A lockedHead is a row of rollcall_feeds that this transaction has locked.
type lockedHead struct {
	feed.Head
	tenant          string
	name            feed.Name // local
	born            int64
	seen            int64
	items           int
	mailAt          sql.NullInt64
	mailing, claims int64
	trimAt          sql.NullInt64
	changed         bool // the relay has changed it
}

// lock locks the heads of a tenant's feeds, by their local names and in the order of these. It returns the
// heads of feeds that have begun, and the database's time, which is 0 if there are none.
func (f *feedRows) lock(ctx context.Context, q querier, tenant string, names []feed.Name) (heads map[feed.Name]*lockedHead, now int64, err error) {
	heads = make(map[feed.Name]*lockedHead, len(names))
	err = f.db.queryIn(ctx, q, "feed_lock", func(rows *sql.Rows) error {
		h := &lockedHead{tenant: tenant}
		err := rows.Scan(&now, &h.name, &h.Rev, &h.Pos, &h.Floor, &h.born, &h.Unread, &h.Unseen,
			&h.seen, &h.items, &h.mailAt, &h.mailing, &h.claims, &h.trimAt)
		h.Born = time.UnixMilli(h.born).UTC()
		heads[h.name] = h
		return err
	}, tenant, asJSON(names))
	return heads, now, err
}

// change locks the head of a feed, and calls do, in one transaction. It is a no-op for a feed that has not
// begun. The database may make it call do again.
func (f *feedRows) change(ctx context.Context, n feed.Name, do func(q querier, h *lockedHead, now int64) error) error {
	return f.db.transact(ctx, func(q querier) error {
		heads, now, err := f.lock(ctx, q, n.Tenant(), []feed.Name{n.Local()})
		if err != nil || heads[n.Local()] == nil {
			return err
		}
		return do(q, heads[n.Local()], now)
	})
}

// now returns the database's time as this node knows it.
func (f *feedRows) now(offset time.Duration) int64 {
	return toDatabase(f.db.clock.now(), offset)
}

// count writes a head whose items have changed, and returns it.
func (f *feedRows) count(ctx context.Context, q querier, h *lockedHead, rev, seen int64, trimAt sql.NullInt64) (feed.Head, error) {
	return scanHead(q.QueryRowContext(ctx, f.db.texts["feed_counted"], h.tenant, string(h.name), rev, seen, trimAt))
}
