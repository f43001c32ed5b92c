package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

var _ feed.UserStore = (*Feeds)(nil)

// erasedAtOnce is how many feeds or messages one query of an erasure reads.
const erasedAtOnce = 200

// EraseUser implements [feed.UserStore]. It reads all items and the outbox of the tenant, and is a
// transaction for each feed that names the user.
func (f *Feeds) EraseUser(ctx context.Context, user presence.UserID) ([]feed.Hint, error) {
	changed, err := f.eraseUser(ctx, user)
	if err != nil {
		return changed, fmt.Errorf("sqlstore: erase: %w", err)
	}
	return changed, nil
}

func (f *Feeds) eraseUser(ctx context.Context, user presence.UserID) (changed []feed.Hint, err error) {
	if checkID(user) != nil {
		return nil, ctx.Err()
	}
	if err := f.eraseMessages(ctx, user); err != nil { // first, so that no relay makes items of them
		return nil, err
	}
	err = f.actsOf(ctx, user, func(n feed.Name) error {
		hint, err := f.eraseActs(ctx, n, user)
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
			if err := f.store.exec(ctx, q, statement, h.tenant, string(h.name)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return changed, err
	}
	return changed, f.store.exec(ctx, f.store.db, "erase_mutes", user.Tenant(), string(user.Local()))
}

// actorText is how actors begin that are a user, in JSON.
func actorText(user presence.UserID) string {
	return strings.TrimSuffix(encodeActors([]feed.Actor{{ID: user.Local()}})[1:], `""]]`)
}

// actsOf calls do for each feed in which a user acted.
func (f *Feeds) actsOf(ctx context.Context, user presence.UserID, do func(feed.Name) error) error {
	for after := ""; ; {
		var names []string
		err := f.store.query(ctx, "acts", func(rows *sql.Rows) error {
			var name string
			err := rows.Scan(&name)
			names = append(names, name)
			return err
		}, user.Tenant(), actorText(user), after, erasedAtOnce)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := do(feed.Name(name).In(user.Tenant())); err != nil {
				return err
			}
		}
		if len(names) < erasedAtOnce {
			return nil
		}
		after = names[len(names)-1]
	}
}

// An act is an item in which a user acted.
type act struct {
	pos, at    int64
	typ, text  string
	actors     []feed.Actor
	others     int
	actorsText string
}

func (f *Feeds) actsIn(ctx context.Context, q querier, n feed.Name, user presence.UserID) (acts []act, err error) {
	err = f.store.queryIn(ctx, q, "acts_in", func(rows *sql.Rows) error {
		var a act
		err := rows.Scan(&a.pos, &a.typ, &a.text, &a.at, &a.actorsText, &a.others)
		a.actors = decodeActors(a.actorsText)
		acts = append(acts, a)
		return err
	}, n.Tenant(), string(n.Local()), actorText(user))
	return acts, err
}

// eraseActs makes a user one who is not named in the items of a feed.
func (f *Feeds) eraseActs(ctx context.Context, n feed.Name, user presence.UserID) (hint feed.Hint, err error) {
	err = f.change(ctx, n, func(q querier, h *lockedHead, _ int64) error {
		acts, err := f.actsIn(ctx, q, n, user)
		if err != nil || len(acts) == 0 {
			return err
		}
		for _, a := range acts {
			actors, others := a.without(user.Local())
			if err := f.store.exec(ctx, q, "erase_item", h.tenant, string(h.name), a.pos, h.Rev+1, encodeActors(actors), others); err != nil {
				return err
			}
		}
		head, err := f.count(ctx, q, h, h.Rev+1, h.seen, sql.NullInt64{})
		hint = feed.Hint{Name: n, Rev: head.Rev}
		return err
	})
	return hint, err
}

// without returns the actors with a user as one without a name. Of two without a name one is only
// counted.
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

// A waitingMessage is a row of the outbox, in which any program may have written anything.
type waitingMessage struct {
	id, text string
	fields   map[string]json.RawMessage // nil: it is no JSON
}

// messagesOf calls do for each message in the outbox that names a user.
func (f *Feeds) messagesOf(ctx context.Context, user presence.UserID, do func(m waitingMessage) error) error {
	for after := ""; ; {
		var messages []waitingMessage
		err := f.store.query(ctx, "outbox_about", func(rows *sql.Rows) error {
			var m waitingMessage
			err := rows.Scan(&m.id, &m.text)
			messages = append(messages, m)
			return err
		}, user.Tenant(), string(user.Local()), after, erasedAtOnce)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if json.Unmarshal([]byte(m.text), &m.fields) != nil {
				m.fields = nil
			}
			if m.names(user.Local()) {
				if err := do(m); err != nil {
					return err
				}
			}
		}
		if len(messages) < erasedAtOnce {
			return nil
		}
		after = messages[len(messages)-1].id
	}
}

// names reports whether the message is to or from a user. What is no JSON holds the id: it never
// becomes a message.
func (m waitingMessage) names(user presence.UserID) bool {
	return m.fields == nil || m.from() == user || slices.Contains(m.to(), user)
}

func (m waitingMessage) from() (from presence.UserID) {
	_ = json.Unmarshal(m.fields["from"], &from) // no text: nobody
	return from
}

func (m waitingMessage) to() (to []presence.UserID) {
	_ = json.Unmarshal(m.fields["to"], &to)
	return to
}

// eraseMessages takes a user out of the messages that wait, and removes those that are then to
// nobody.
func (f *Feeds) eraseMessages(ctx context.Context, user presence.UserID) error {
	return f.messagesOf(ctx, user, func(m waitingMessage) error {
		s, me := f.store, user.Local()
		to := slices.DeleteFunc(m.to(), func(id presence.UserID) bool { return id == me })
		if m.fields == nil || len(to) == 0 && m.fields["feed"] == nil {
			return s.exec(ctx, s.db, "erase_message_all", user.Tenant(), m.id, m.text)
		}
		if len(to) > 0 {
			m.fields["to"] = json.RawMessage(asJSON(to))
		}
		if m.from() == me {
			delete(m.fields, "from")
			m.fields["name"] = json.RawMessage(`"` + feed.Somebody + `"`)
		}
		rest, err := json.Marshal(m.fields)
		if err != nil {
			return err
		}
		return s.exec(ctx, s.db, "erase_message", user.Tenant(), m.id, string(rest), m.text)
	})
}

// ExportUser implements [feed.UserStore]. It reads what EraseUser erases.
func (f *Feeds) ExportUser(ctx context.Context, user presence.UserID) (k feed.UserKept, err error) {
	if checkID(user) != nil {
		return k, ctx.Err()
	}
	inbox := feed.Inbox(user)
	for before, more := int64(0), true; more && err == nil; {
		var items []feed.Item
		_, items, more, err = f.Page(ctx, inbox, before, erasedAtOnce)
		if k.Items = append(k.Items, items...); len(items) > 0 {
			before = items[len(items)-1].Pos
		}
	}
	if err == nil {
		k.Mutes, err = f.Mutes(ctx, user)
	}
	var offset time.Duration
	if err == nil {
		offset, err = f.store.clock.read(ctx)
	}
	if err == nil {
		err = f.actsOf(ctx, user, func(n feed.Name) error {
			acts, err := f.actsIn(ctx, f.store.db, n, user)
			for _, a := range acts {
				k.Acts = append(k.Acts, feed.ActKept{Feed: n, Type: a.typ, At: fromDatabase(a.at, offset)})
			}
			return err
		})
	}
	if err == nil {
		err = f.messagesOf(ctx, user, func(m waitingMessage) error {
			if m.from() == user.Local() {
				k.Waiting = append(k.Waiting, m.text)
			}
			return nil
		})
	}
	if err != nil {
		return feed.UserKept{}, fmt.Errorf("sqlstore: export: %w", err)
	}
	return k, nil
}
