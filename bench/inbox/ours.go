package main

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// ours is Rollcall's feeds, by the calls that a site makes.
type ours struct {
	e     *engine
	db    *sql.DB
	store *sqlstore.Feeds
}

func newOurs(e *engine, db *sql.DB) (inbox, error) {
	s, err := sqlstore.New(db, sqlstore.Config{Dialect: e.dialect})
	if err != nil {
		return nil, err
	}
	return &ours{e, db, s.Feeds()}, s.Migrate(context.Background())
}

func (o *ours) name() string { return "Rollcall" }

// userID names a user. All names have the same length, so that they sort as numbers.
func userID(n int) presence.UserID { return presence.UserID("user-" + strconv.Itoa(1_000_000+n)) }

func inboxOf(n int) feed.Name { return feed.Inbox(userID(n)) }

// fill writes the rows that the relay would have written, in the order of their time; SQLite
// keeps them in the order of their key anyway.
func (o *ours) fill(ctx context.Context, c crowd) error {
	name := "'inbox:user-' || (1000000 + " + c.user() + ")"
	now := time.Now().UnixMilli()
	items := fmt.Sprintf(`INSERT INTO rollcall_items (feed, pos, rev, id, type, at, actors, others, n, about, grp, text, url, state)
		SELECT %s, %s, %[2]s, 'message-' || i, 'reply', %[4]d - 100 * (%[5]d - i), '[["alice","Alice"],["bob","Bob"]]', 2, 5,
		'thread:' || i, 'replies', '{actors} replied in “What are you listening to today?”', '/threads/' || i || '#post-17', CASE WHEN %[3]s THEN 0 ELSE 1 END
		FROM %[6]s AS s`+o.e.pick(" ORDER BY 1, 2", ""), name, c.place(), c.unread(), now, c.rows, o.e.series(c.rows))
	return load(ctx, o.e, o.db, []string{"rollcall_items", "rollcall_ids"}, items,
		"INSERT INTO rollcall_ids (feed, id, at) SELECT feed, id, at FROM rollcall_items"+o.e.pick(" ORDER BY 1, 2", ""),
		`INSERT INTO rollcall_feeds (feed, born, rev, pos, unread, unseen, items)
		SELECT feed, min(at), max(rev), max(pos), sum(CASE state WHEN 0 THEN 1 ELSE 0 END), sum(CASE state WHEN 0 THEN 1 ELSE 0 END), count(*)
		FROM rollcall_items GROUP BY feed`)
}

func (o *ours) count(ctx context.Context, user int) (int, error) {
	heads, err := o.store.Heads(ctx, inboxOf(user))
	if err != nil {
		return 0, err
	}
	return heads[0].Unread, nil
}

func (o *ours) list(ctx context.Context, user int) (int, error) {
	_, items, _, err := o.store.Page(ctx, inboxOf(user), 0, 20)
	return len(items), err
}

func (o *ours) some(ctx context.Context, user, n int) (ids []string, thread int, err error) {
	rows, err := o.db.QueryContext(ctx, fmt.Sprintf("SELECT pos, substr(about, 8) FROM rollcall_items WHERE feed = '%s' AND state = 0 ORDER BY pos LIMIT %d", inboxOf(user), n))
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id, &thread); err != nil {
			return nil, 0, err
		}
		ids = append(ids, id)
	}
	return ids, thread, rows.Err()
}

func (o *ours) marked(ctx context.Context, user int, m feed.Mark) error {
	_, err := o.store.Mark(ctx, inboxOf(user), m)
	return err
}

func (o *ours) mark(ctx context.Context, user int, id string) error {
	pos, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return err
	}
	return o.marked(ctx, user, feed.Mark{As: feed.Read, Pos: []int64{pos}})
}

func (o *ours) thread(ctx context.Context, user, thread int) error {
	return o.marked(ctx, user, feed.Mark{As: feed.Read, About: fmt.Sprint("thread:", thread)})
}

func (o *ours) all(ctx context.Context, user int) error {
	return o.marked(ctx, user, feed.Mark{As: feed.Read, UpTo: 1 << 40})
}

func (o *ours) reset(ctx context.Context, user int) error {
	return o.marked(ctx, user, feed.Mark{As: feed.Unread, UpTo: 1 << 40})
}

// catchUp measures how long it takes to read the 50 items that changed since a reader looked.
func (r *run) catchUp(ctx context.Context, e *engine, o *ours) error {
	name := inboxOf(heavy)
	heads, err := o.store.Heads(ctx, name)
	if err != nil {
		return err
	}
	since := feed.Since{Name: name, Rev: heads[0].Rev, Born: heads[0].Born}
	ids, _, err := o.some(ctx, heavy, 50)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := o.mark(ctx, heavy, id); err != nil {
			return err
		}
	}
	var took durations
	if err := took.timed(r.Rounds*r.Calls, func(int) error {
		changes, err := o.store.Changes(ctx, since)
		if err == nil && (changes[0].Gap || len(changes[0].Items) != len(ids)) {
			err = fmt.Errorf("got %d items and a gap: %v, want %d items", len(changes[0].Items), changes[0].Gap, len(ids))
		}
		return err
	}); err != nil {
		return err
	}
	r.within("catch-up of 50 items", e, took.median(), time.Millisecond)
	return nil
}

// message is a reply to the inboxes of some users. Its text has a number.
func message(n int, to ...presence.UserID) feed.Message {
	return feed.Message{
		To: to, Type: "reply", From: "alice", Name: "Alice", About: fmt.Sprint("thread:", n), Group: "replies",
		Text: fmt.Sprintf("{actors} replied in “What are you listening to today?” ~%d~", n), URL: fmt.Sprintf("/threads/%d#post-17", n), Mail: true,
	}
}

// users returns n users, from the one of a number.
func users(first, n int) []presence.UserID {
	all := make([]presence.UserID, n)
	for i := range all {
		all[i] = userID(first + i)
	}
	return all
}

// oursQueue sends messages in the transaction of the application. A job is a recipient.
type oursQueue struct{ *ours }

func openOurs(_ context.Context, _ *run, e *engine, database string) (queue, error) {
	db, err := e.open(database)
	if err != nil {
		return nil, err
	}
	in, err := newOurs(e, db)
	if err != nil {
		return nil, err
	}
	return &oursQueue{in.(*ours)}, nil
}

func (q *oursQueue) insert(ctx context.Context, first, n int) (took time.Duration, err error) {
	to := users(first, n)
	err = inTx(ctx, q.db, func(tx *sql.Tx) error {
		began := time.Now()
		defer func() { took = time.Since(began) }()
		return q.store.SendTx(ctx, tx, message(first, to...))
	})
	return took, err
}

func (q *oursQueue) start(context.Context, func(int)) (stop func(), err error) {
	panic("relay and live measure it")
}

func (q *oursQueue) close() { q.db.Close() }
