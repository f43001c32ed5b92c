package main

import (
	"context"
	"database/sql"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// edit replaces the text of a post if its revision is still the one that the editor began with. It returns the
// post as it is now, and whether it has the editor's text. A text that somebody else has saved in the meantime
// stays. An unchanged text is no new revision. It returns sql.ErrNoRows if there is no such post.
func (d *database) edit(ctx context.Context, tenant string, t thread, n, revision int, text string, editor presence.User) (now post, saved bool, err error) {
	err = d.store.Transact(ctx, func(tx sqlstore.Tx) error {
		if err := d.lockThread(ctx, tx, tenant, t.ID); err != nil {
			return err
		}
		found := false
		if err := eachPost(ctx, tx, func(_ int, p post) { now, found = p, true }, `SELECT `+postColumns+` FROM forum_posts
			WHERE tenant = $1 AND thread = $2 AND n = $3`, tenant, t.ID, n); err != nil {
			return err
		}
		switch {
		case !found:
			return sql.ErrNoRows
		case now.Raw == text:
			saved = true
			return nil
		case now.Revision != revision:
			return nil
		}
		saved = true
		now.Raw, now.Revision, now.Editor = text, revision+1, editor.Name
		_, err := tx.ExecContext(ctx, `UPDATE forum_posts SET text = $4, revision = $5, editor = $6
			WHERE tenant = $1 AND thread = $2 AND n = $3`, tenant, t.ID, n, now.Raw, now.Revision, now.Editor)
		return err
	})
	return now, saved && err == nil, err
}
