package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// postTable holds the posts of the forum. The numbers of a thread's posts have no gaps. Times are Unix
// milliseconds by the database's clock. Each change of a text has a new revision, and editor is the name of
// its author.
const postTable = `CREATE TABLE IF NOT EXISTS forum_posts (tenant text NOT NULL DEFAULT '', thread integer NOT NULL, n integer NOT NULL,
	author_id text NOT NULL, author text NOT NULL, text text NOT NULL, at bigint NOT NULL,
	revision integer NOT NULL DEFAULT 1, editor text NOT NULL DEFAULT '', PRIMARY KEY (tenant, thread, n))`

// seedPosts writes the first posts of a tenant's forum, unless the tenant has posts.
func seedPosts(ctx context.Context, tx sqlstore.Tx, tenant string) error {
	var some bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM forum_posts WHERE tenant = $1)`, tenant).Scan(&some); err != nil || some {
		return err
	}
	for _, t := range threads() {
		for _, p := range t.Posts {
			if _, err := tx.ExecContext(ctx, `INSERT INTO forum_posts (tenant, thread, n, author_id, author, text, at)
				VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
				tenant, t.ID, p.N, string(p.Author.ID), p.Author.Name, p.Raw, p.Time.UnixMilli()); err != nil {
				return err
			}
		}
	}
	return nil
}

const postColumns = "thread, n, author_id, author, text, at, revision, editor"

// postsOf returns the latest posts of a tenant's thread, the oldest of them first. If before is not 0, it
// returns the latest posts before that number. It returns none until somebody has posted in the tenant.
func (d *database) postsOf(ctx context.Context, tenant string, thread, before, most int) ([]post, error) {
	var page []post
	err := eachPost(ctx, d, func(_ int, p post) { page = append(page, p) }, `SELECT `+postColumns+` FROM forum_posts
		WHERE tenant = $1 AND thread = $2 AND n < $3 ORDER BY n DESC LIMIT $4`, tenant, thread, cmp.Or(before, math.MaxInt32), most)
	if err != nil {
		return nil, err // without the posts that came in time
	}
	slices.Reverse(page)
	return page, nil
}

// latestPosts returns the latest post of each of some threads.
func (d *database) latestPosts(ctx context.Context, tenant string, threads []int) (map[int]post, error) {
	one := make([]string, len(threads)) // one look into the table's index for each thread
	for i, t := range threads {
		one[i] = fmt.Sprintf(`SELECT * FROM (SELECT %s FROM forum_posts WHERE tenant = $1 AND thread = %d ORDER BY n DESC LIMIT 1) t%d`, postColumns, t, t)
	}
	latest := make(map[int]post)
	err := eachPost(ctx, d, func(thread int, p post) { latest[thread] = p }, strings.Join(one, " UNION ALL "), tenant)
	return latest, err
}

// eachPost calls do for each row of a query of postColumns.
func eachPost(ctx context.Context, q sqlstore.Tx, do func(thread int, p post), query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var p post
		var thread int
		var at int64
		if err := rows.Scan(&thread, &p.N, &p.Author.ID, &p.Author.Name, &p.Raw, &at, &p.Revision, &p.Editor); err != nil {
			return err
		}
		do(thread, p.of(at))
	}
	return rows.Err()
}

// reply writes a post in one transaction with two messages: one notifies the thread's other authors, and one
// shows the post on open pages. It returns the number of the post, or errTooManyReceivers if may returns false for the
// number of users whom it notifies. A nil may allows any number.
func (d *database) reply(ctx context.Context, tenant string, t thread, author presence.User, text string, may func(receivers int) bool) (n int, err error) {
	err = d.store.Transact(ctx, func(tx sqlstore.Tx) error {
		if err := d.lockThread(ctx, tx, tenant, t.ID); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, `INSERT INTO forum_posts (tenant, thread, n, author_id, author, text, at)
			SELECT tenant, thread, max(n) + 1, CAST($3 AS text), CAST($4 AS text), CAST($5 AS text), `+d.now+`
			FROM forum_posts WHERE tenant = $1 AND thread = $2 GROUP BY tenant, thread RETURNING n`,
			tenant, t.ID, string(author.ID), author.Name, text).Scan(&n); err != nil {
			return err
		}
		others, err := otherAuthors(ctx, tx, tenant, t.ID, author.ID)
		if err != nil {
			return err
		}
		if may != nil && !may(len(others)) {
			return errTooManyReceivers
		}
		return d.send(ctx, tx, replyMessages(tenant, t, post{N: n, Author: author, Raw: text}, others)...)
	})
	return n, err
}

var errTooManyReceivers = errors.New("the author has notified too many members")

// lockThread locks a thread for writing until the transaction ends, so that the numbers of posts are in the
// order of the commits. SQLite needs no lock, since it has one writer at a time. lockThread also writes the
// first posts of a tenant in which nobody has posted yet.
func (d *database) lockThread(ctx context.Context, tx sqlstore.Tx, tenant string, thread int) error {
	if err := seedPosts(ctx, tx, tenant); err != nil || d.dialect != sqlstore.Postgres {
		return err
	}
	_, err := tx.ExecContext(ctx, `SELECT 1 FROM forum_posts WHERE tenant = $1 AND thread = $2 AND n = 0 FOR UPDATE`, tenant, thread)
	return err
}

// otherAuthors returns the other users who have posted in a thread.
func otherAuthors(ctx context.Context, tx sqlstore.Tx, tenant string, thread int, but presence.UserID) (users []presence.UserID, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT DISTINCT author_id FROM forum_posts WHERE tenant = $1 AND thread = $2 AND author_id <> $3 AND author_id <> ''`,
		tenant, thread, string(but))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var user presence.UserID
		if err := rows.Scan(&user); err != nil {
			return nil, err
		}
		users = append(users, user)
	}
	return users, rows.Err()
}
