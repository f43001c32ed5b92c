package sqlstore

import (
	"context"
	"database/sql"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// Mute implements [feed.Store]. It is one statement, or a transaction of two.
func (f *Feeds) Mute(ctx context.Context, user presence.UserID, m feed.Mute) (err error) {
	defer wrap(&err, "mute")
	if err := feed.Inbox(user).Validate(); err != nil {
		return err
	}
	if err := m.Validate(); err != nil {
		return err
	}
	s := f.db
	if m.How == feed.MuteNothing {
		return s.exec(ctx, s.pool, "mute_lift", user.Tenant(), string(user.Local()), m.Scope)
	}
	offset, err := s.clock.read(ctx)
	if err != nil {
		return err
	}
	return s.transact(ctx, func(q querier) error {
		if err := s.exec(ctx, q, "mute_ended", user.Tenant(), string(user.Local()), f.now(offset)); err != nil {
			return err
		}
		done, err := q.ExecContext(ctx, s.texts["mute_put"], user.Tenant(), string(user.Local()), m.Scope, int(m.How), toDatabase(m.Until, offset), feed.MaxMutes)
		if err != nil {
			return err
		}
		if rows, err := done.RowsAffected(); err != nil || rows > 0 {
			return err
		}
		return feed.ErrTooManyMutes
	})
}

// Mutes implements [feed.Store].
func (f *feedReader) Mutes(ctx context.Context, user presence.UserID) (all []feed.Mute, err error) {
	defer wrap(&err, "mutes")
	if err := feed.Inbox(user).Validate(); err != nil {
		return nil, err
	}
	offset, err := f.db.clock.read(ctx)
	if err != nil {
		return nil, err
	}
	all = []feed.Mute{}
	err = f.db.query(ctx, "mutes", func(rows *sql.Rows) error {
		var m feed.Mute
		var until int64
		err := rows.Scan(&m.Scope, &m.How, &until)
		m.Until = fromDatabase(until, offset)
		all = append(all, m)
		return err
	}, user.Tenant(), string(user.Local()), f.now(offset))
	return all, err
}
