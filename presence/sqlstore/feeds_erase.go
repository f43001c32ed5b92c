package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

var _ feed.UserStore = (*Feeds)(nil)

// erasedAtOnce is how many messages one query of an erasure reads, and actsAtOnce how many items in which a user acted.
const (
	erasedAtOnce = 200
	actsAtOnce   = 1000
)

// A feedEraser exports and erases what feeds keep of a user.
type feedEraser struct {
	*feedRows
	reader *feedReader
}

// EraseUser implements [feed.UserStore]. It reads all items and the outbox of the tenant, and is a
// transaction for each feed that names the user.
func (f *feedEraser) EraseUser(ctx context.Context, user presence.UserID) (changed []feed.Hint, err error) {
	defer wrap(&err, "erase")
	if checkID(user) != nil {
		return nil, ctx.Err()
	}
	if err := f.eraseMessages(ctx, user); err != nil { // first, so that no relay turns them into items
		return nil, err
	}
	var done feed.Name
	err = f.actsOf(ctx, user, func(a act) error {
		if a.feed == done {
			return nil
		}
		done = a.feed
		hint, err := f.eraseActs(ctx, a.feed, user)
		if hint.Rev > 0 {
			changed = append(changed, hint)
		}
		return err
	})
	if err != nil {
		return changed, err
	}
	inbox := feed.Inbox(user)
	err = f.change(ctx, inbox, func(q querier, h *lockedHead, _ int64) error {
		changed = append(changed, feed.Hint{Name: inbox, Rev: h.Rev + 1})
		for _, statement := range []string{"erase_inbox_items", "erase_inbox_ids", "erase_inbox_head"} {
			if err := f.db.exec(ctx, q, statement, h.tenant, string(h.name)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return changed, err
	}
	return changed, f.db.exec(ctx, f.db.pool, "erase_mutes", user.Tenant(), string(user.Local()))
}

// actorText returns the start of the JSON of an actor who is the user.
func actorText(user presence.UserID) string {
	return strings.TrimSuffix(encodeActors([]feed.Actor{{ID: user.Local()}})[1:], `""]]`)
}

// An act is an item in which a user acted.
type act struct {
	feed    feed.Name
	pos, at int64
	typ     string
	actors  []feed.Actor
	others  int
}

// actsOf calls do for each item in which a user acted, feed by feed, without its actors. It is a query for each 1,000
// items, in however many feeds they are.
func (f *feedEraser) actsOf(ctx context.Context, user presence.UserID, do func(act) error) error {
	for last := (act{}); ; {
		var acts []act
		err := f.db.query(ctx, "acts", func(rows *sql.Rows) error {
			var a act
			err := rows.Scan(&a.feed, &a.pos, &a.typ, &a.at)
			acts = append(acts, a)
			return err
		}, user.Tenant(), actorText(user), string(last.feed), last.pos, actsAtOnce)
		if err != nil {
			return err
		}
		for _, a := range acts {
			last = a
			a.feed = a.feed.In(user.Tenant())
			if err := do(a); err != nil {
				return err
			}
		}
		if len(acts) < actsAtOnce {
			return nil
		}
	}
}

// actsIn returns the items of a feed in which a user acted.
func (f *feedEraser) actsIn(ctx context.Context, q querier, n feed.Name, user presence.UserID) (acts []act, err error) {
	err = f.db.queryIn(ctx, q, "acts_in", func(rows *sql.Rows) error {
		a := act{feed: n}
		var actors string
		err := rows.Scan(&a.pos, &actors, &a.others)
		a.actors = decodeActors(actors)
		acts = append(acts, a)
		return err
	}, n.Tenant(), string(n.Local()), actorText(user))
	return acts, err
}

// eraseActs makes a user anonymous in the items of a feed.
func (f *feedEraser) eraseActs(ctx context.Context, n feed.Name, user presence.UserID) (hint feed.Hint, err error) {
	err = f.change(ctx, n, func(q querier, h *lockedHead, _ int64) error {
		acts, err := f.actsIn(ctx, q, n, user)
		if err != nil || len(acts) == 0 {
			return err
		}
		for _, a := range acts {
			actors, others := a.without(user.Local())
			if err := f.db.exec(ctx, q, "erase_item", h.tenant, string(h.name), a.pos, h.Rev+1, encodeActors(actors), others); err != nil {
				return err
			}
		}
		head, err := f.count(ctx, q, h, h.Rev+1, h.seen, sql.NullInt64{})
		hint = feed.Hint{Name: n, Rev: head.Rev}
		return err
	})
	return hint, err
}

// without returns the actors of the item after an erasure, in which user has become an actor without a name.
// At most one such actor is listed. Further ones are only counted in others.
func (a act) without(user presence.UserID) (actors []feed.Actor, others int) {
	others = a.others
	for _, actor := range a.actors {
		if actor.ID == user {
			actor = feed.Actor{Name: feed.Somebody}
		}
		if actor.ID == "" && slices.ContainsFunc(actors, func(b feed.Actor) bool { return b.ID == "" }) {
			others++
			continue
		}
		actors = append(actors, actor)
	}
	return actors, others
}

// messagesOf calls do for each message in the outbox that names a user.
func (f *feedEraser) messagesOf(ctx context.Context, user presence.UserID, do func(m message) error) error {
	for after := ""; ; {
		var rows []outboxRow
		err := f.db.query(ctx, "outbox_about", func(r *sql.Rows) error {
			row := outboxRow{tenant: user.Tenant()}
			err := r.Scan(&row.id, &row.message)
			rows = append(rows, row)
			return err
		}, user.Tenant(), string(user.Local()), after, erasedAtOnce)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if m := readMessage(row); m.names(user) {
				if err := do(m); err != nil {
					return err
				}
			}
		}
		if len(rows) < erasedAtOnce {
			return nil
		}
		after = rows[len(rows)-1].id
	}
}

// names reports whether the message is to or from a user. A message that will never be relayed names the user
// if it contains the id anywhere; if it is not JSON, it is assumed to.
func (m message) names(user presence.UserID) bool {
	if m.err == nil {
		return m.From == user.Local() || slices.Contains(m.To, user.Local())
	}
	var said any
	return json.Unmarshal([]byte(m.row.message), &said) != nil || mentions(said, string(user.Local()), string(feed.Inbox(user).Local()))
}

// mentions reports whether a JSON value contains one of some texts.
func mentions(said any, texts ...string) bool {
	mention := func(part any) bool { return mentions(part, texts...) }
	switch said := said.(type) {
	case string:
		return slices.Contains(texts, said)
	case []any:
		return slices.ContainsFunc(said, mention)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(said)), mention)
	}
	return false
}

// eraseMessages removes a user from the waiting messages. It deletes messages that then have no recipient,
// and those that will never be relayed.
func (f *feedEraser) eraseMessages(ctx context.Context, user presence.UserID) error {
	return f.messagesOf(ctx, user, func(m message) error {
		s, me := f.db, user.Local()
		m.To = slices.DeleteFunc(m.To, func(id presence.UserID) bool { return id == me })
		if m.err != nil || len(m.To) == 0 && m.Feed == "" {
			return s.exec(ctx, s.pool, "erase_message_all", user.Tenant(), m.row.id, m.row.message)
		}
		if m.From == me {
			m.From, m.Name = "", feed.Somebody
		}
		rest, err := json.Marshal(m.Message)
		if err != nil {
			return err
		}
		return s.exec(ctx, s.pool, "erase_message", user.Tenant(), m.row.id, string(rest), m.row.message)
	})
}

// ExportUser implements [feed.UserStore]. It reads what EraseUser erases.
func (f *feedEraser) ExportUser(ctx context.Context, user presence.UserID) (k feed.UserKept, err error) {
	defer wrap(&err, "export")
	if checkID(user) != nil {
		return k, ctx.Err()
	}
	for before, more := int64(0), true; more; {
		var items []feed.Item
		if _, items, more, err = f.reader.Page(ctx, feed.Inbox(user), before, erasedAtOnce); err != nil {
			return k, err
		}
		if k.Items = append(k.Items, items...); len(items) > 0 {
			before = items[len(items)-1].Pos
		}
	}
	if k.Mutes, err = f.reader.Mutes(ctx, user); err != nil {
		return k, err
	}
	offset, err := f.db.clock.read(ctx)
	if err != nil {
		return k, err
	}
	err = f.actsOf(ctx, user, func(a act) error {
		k.Acts = append(k.Acts, feed.ActKept{Feed: a.feed, Type: a.typ, At: fromDatabase(a.at, offset)})
		return nil
	})
	if err != nil {
		return k, err
	}
	err = f.messagesOf(ctx, user, func(m message) error {
		if m.From == user.Local() {
			k.Waiting = append(k.Waiting, m.row.message)
		}
		return nil
	})
	return k, err
}
