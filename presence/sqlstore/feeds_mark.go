package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// Mark implements [feed.Store]. It is a transaction of at most four statements.
func (f *Feeds) Mark(ctx context.Context, n feed.Name, m feed.Mark) (head feed.Head, err error) {
	defer wrap(&err, "mark")
	if n.Owner() == "" {
		return head, fmt.Errorf("%w: %.140q is no inbox", feed.ErrInvalidName, n)
	}
	if err := n.Validate(); err != nil {
		return head, err
	}
	if err := m.Validate(); err != nil {
		return head, err
	}
	err = f.change(ctx, n, func(q querier, h *lockedHead, now int64) error {
		do := f.markItems
		if m.Seen {
			do = f.markSeen
		}
		head, err = do(ctx, q, h, m, now)
		return err
	})
	return head, err
}

// markItems changes the state of items. If there are none to change, it changes nothing.
func (f *Feeds) markItems(ctx context.Context, q querier, h *lockedHead, m feed.Mark, now int64) (feed.Head, error) {
	s := f.db
	statement, args := "feed_mark_upto", []any{h.tenant, string(h.name), int(m.As), h.Rev + 1, upTo(m)}
	switch {
	case len(m.Pos) > 0:
		statement, args[4] = "feed_mark_places", asJSON(m.Pos)
	case m.About != "" && m.As == feed.Read:
		statement, args = "feed_read_about", append(args, m.About)
	case m.About != "":
		statement, args = "feed_mark_about", append(args, m.About)
	}
	done, err := q.ExecContext(ctx, s.texts[statement], append(args, now)...)
	if err != nil {
		return feed.Head{}, err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return h.Head, err
	}
	trimAt := sql.NullInt64{Int64: now, Valid: m.As == feed.Archived} // archived items are kept for a shorter time
	return f.count(ctx, q, h, h.Rev+1, h.seen, trimAt)
}

// markSeen stores what the user has seen, and when. The head has a new revision if the number of unseen items
// falls.
func (f *Feeds) markSeen(ctx context.Context, q querier, h *lockedHead, m feed.Mark, now int64) (feed.Head, error) {
	seen := min(upTo(m), h.Pos)
	if seen <= h.seen {
		return h.Head, nil
	}
	if err := f.db.exec(ctx, q, "feed_passed", h.tenant, string(h.name), h.seen, seen, now); err != nil {
		return feed.Head{}, err
	}
	rev := h.Rev
	if h.Unseen > 0 {
		var unseen int
		if err := q.QueryRowContext(ctx, f.db.texts["feed_unseen"], h.tenant, string(h.name), seen).Scan(&unseen); err != nil {
			return feed.Head{}, err
		}
		if unseen != h.Unseen {
			rev++
		}
	}
	return f.count(ctx, q, h, rev, seen, sql.NullInt64{})
}

func upTo(m feed.Mark) int64 { return cmp.Or(m.UpTo, allPlaces) }

// Edit implements [feed.Store]. It is a transaction of three statements.
func (f *Feeds) Edit(ctx context.Context, n feed.Name, id string, m feed.Message) (head feed.Head, err error) {
	defer wrap(&err, "edit")
	if err := checkRoom(n); err != nil {
		return head, err
	}
	m = feed.Message{Feed: n.Local(), Type: m.Type, V: m.V, Text: m.Text, URL: m.URL, Data: m.Data}.WithDefaults(id)
	if err := m.Validate(); err != nil {
		return head, err
	}
	return f.edit(ctx, n, "feed_edit", false, id, m.Type, m.V, m.Text, m.URL, dataColumn(m))
}

// Remove implements [feed.Store]. It is a transaction of three statements.
func (f *Feeds) Remove(ctx context.Context, n feed.Name, id string) (head feed.Head, err error) {
	defer wrap(&err, "remove")
	if err := checkRoom(n); err != nil {
		return head, err
	}
	return f.edit(ctx, n, "feed_remove", true, id)
}

// checkRoom returns nil, or an error that is feed.ErrInvalidName.
func checkRoom(n feed.Name) error {
	if n.Owner() != "" {
		return fmt.Errorf("%w: %.140q is no room", feed.ErrInvalidName, n)
	}
	return n.Validate()
}

// edit runs a statement that changes one item of a room.
func (f *Feeds) edit(ctx context.Context, n feed.Name, statement string, removes bool, id string, args ...any) (head feed.Head, err error) {
	if !validItemID(id) {
		return head, feed.ErrNoItem
	}
	found := false
	err = f.change(ctx, n, func(q querier, h *lockedHead, now int64) error {
		done, err := q.ExecContext(ctx, f.db.texts[statement], append([]any{h.tenant, string(h.name), id, h.Rev + 1}, args...)...)
		if err != nil {
			return err
		}
		rows, err := done.RowsAffected()
		if found = rows > 0; err != nil {
			return err
		}
		if !found {
			head = h.Head
			if !removes {
				return nil
			}
			var items int // whether it has been removed before
			err := q.QueryRowContext(ctx, f.db.texts["feed_has"], h.tenant, string(h.name), id).Scan(&items)
			found = items > 0
			return err
		}
		head, err = f.count(ctx, q, h, h.Rev+1, h.seen, sql.NullInt64{Int64: now, Valid: removes})
		return err
	})
	if err == nil && !found {
		err = feed.ErrNoItem
	}
	return head, err
}

// validItemID reports whether an item can have the id. Other ids are not sent to the database.
func validItemID(id string) bool {
	return feed.Message{Feed: "thread:1", ID: id, Text: "."}.Validate() == nil && id != ""
}

// dataColumn returns a message's data as the database keeps it.
func dataColumn(m feed.Message) any {
	if len(m.Data) == 0 {
		return nil
	}
	return string(m.Data)
}
