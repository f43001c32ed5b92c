package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rollcall-go/rollcall/presence"
)

// MaxEntries is how many contacts and blocked users one user may have together.
const MaxEntries = 5_000

// An Entry is a contact or a block on a user's lists.
type Entry struct {
	User     presence.UserID   // the other user, of the same tenant, by the id inside
	Relation presence.Relation // Contact or Blocked
}

// contacts has the contacts and blocks of users.
type contacts struct{ db *database }

// Contacts implements [presence.Directory]. Contacts who were added first come first.
func (c *contacts) Contacts(ctx context.Context, user presence.UserID, most int) (all []presence.UserID, err error) {
	defer wrap(&err, "contacts")
	all = []presence.UserID{}
	if checkID(user) != nil || most <= 0 {
		return all, ctx.Err()
	}
	err = c.db.query(ctx, "contacts", func(rows *sql.Rows) error {
		var other presence.UserID
		err := rows.Scan(&other)
		all = append(all, other.In(user.Tenant()))
		return err
	}, user.Tenant(), string(user.Local()), min(most, MaxEntries))
	return all, err
}

// List returns a user's contacts, as [People.Contacts] does, and then the users whom the user blocks. Cost:
// one query of at most [MaxEntries] rows.
func (c *contacts) List(ctx context.Context, user presence.UserID) (all []Entry, err error) {
	defer wrap(&err, "list")
	all = []Entry{}
	if checkID(user) != nil {
		return all, ctx.Err()
	}
	err = c.db.query(ctx, "list", func(rows *sql.Rows) error {
		var e Entry
		var kind int
		err := rows.Scan(&e.User, &kind)
		e.User, e.Relation = e.User.In(user.Tenant()), relationOf(kind)
		all = append(all, e)
		return err
	}, user.Tenant(), string(user.Local()))
	return all, err
}

// Relations implements [presence.Directory].
func (c *contacts) Relations(ctx context.Context, pairs ...presence.Pair) (all []presence.Relation, err error) {
	defer wrap(&err, "relations")
	all = make([]presence.Relation, len(pairs))
	if len(pairs) == 0 {
		return all, ctx.Err()
	}
	if err := few(len(pairs), maxRelationsAtOnce); err != nil {
		return nil, err
	}
	valid := make([][3]string, 0, len(pairs))
	for _, pair := range pairs {
		if checkID(pair.User) == nil && checkID(pair.Viewer) == nil && pair.User.Tenant() == pair.Viewer.Tenant() {
			valid = append(valid, [3]string{pair.User.Tenant(), string(pair.User.Local()), string(pair.Viewer.Local())})
		}
	}
	said := make(map[presence.Pair]presence.Relation)
	err = c.db.query(ctx, "relations", func(rows *sql.Rows) error {
		var tenant string
		var pair presence.Pair
		var kind int
		err := rows.Scan(&tenant, &pair.User, &pair.Viewer, &kind)
		said[presence.Pair{User: pair.User.In(tenant), Viewer: pair.Viewer.In(tenant)}] = relationOf(kind)
		return err
	}, asJSON(valid))
	if err != nil {
		return nil, err
	}
	for i, pair := range pairs {
		all[i] = said[pair]
	}
	return all, nil
}

// The kinds of entries in the database.
const (
	kindContact = 1
	kindNone    = 0 // no row
	kindBlocked = -1
)

// relationOf returns the relation for a kind. For an unknown kind it is the strictest (rule P4).
func relationOf(kind int) presence.Relation {
	if kind == kindContact {
		return presence.Contact
	}
	return presence.Blocked
}

// AddContact adds other at the end of the user's contacts. It is a no-op if other is one already. It returns
// [presence.ErrBlocked] while the user blocks other.
//
// AddContact, RemoveContact, Block and Unblock change an entry of user about other. Each is a transaction of
// at most four statements. Call People.RelationsChanged afterwards, or open pages find out within five
// minutes. They return [presence.ErrInvalidUser], also for the user's own id and for a user of another
// tenant, [presence.ErrTooManyContacts] for a new entry, or an error of the database. Nothing has changed
// then.
func (c *contacts) AddContact(ctx context.Context, user, other presence.UserID) error {
	return c.change(ctx, "add contact", user, other, func(was int) (int, error) {
		if was == kindBlocked {
			return was, presence.ErrBlocked
		}
		return kindContact, nil
	})
}

// RemoveContact removes other from the user's contacts. It is a no-op if other is not one: a blocked user
// stays blocked.
func (c *contacts) RemoveContact(ctx context.Context, user, other presence.UserID) error {
	return c.change(ctx, "remove contact", user, other, func(was int) (int, error) {
		if was == kindContact {
			was = kindNone
		}
		return was, nil
	})
}

// Block hides the user from other, and removes other from the user's contacts.
func (c *contacts) Block(ctx context.Context, user, other presence.UserID) error {
	return c.change(ctx, "block", user, other, func(int) (int, error) { return kindBlocked, nil })
}

// Unblock ends Block. It is a no-op if other is not blocked. Other becomes a contact again only by
// AddContact.
func (c *contacts) Unblock(ctx context.Context, user, other presence.UserID) error {
	return c.change(ctx, "unblock", user, other, func(was int) (int, error) {
		if was == kindBlocked {
			was = kindNone
		}
		return was, nil
	})
}

// change replaces the kind of an entry by the one that decide returns.
func (c *contacts) change(ctx context.Context, what string, user, other presence.UserID, decide func(was int) (int, error)) (err error) {
	defer wrap(&err, what)
	if err := errors.Join(checkID(user), checkID(other)); err != nil {
		return err
	}
	switch {
	case user == other:
		return fmt.Errorf("%w: nobody is a contact of their own", presence.ErrInvalidUser)
	case user.Tenant() != other.Tenant():
		return fmt.Errorf("%w: the two are of different tenants", presence.ErrInvalidUser)
	}
	offset, err := c.db.clock.read(ctx)
	if err != nil {
		return err
	}
	now := toDatabase(c.db.clock.now(), offset)
	return c.db.transact(ctx, func(q querier) error {
		return c.changeEntry(ctx, q, user.Tenant(), string(user.Local()), string(other.Local()), now, decide)
	})
}

func (c *contacts) changeEntry(ctx context.Context, q querier, tenant, user, other string, now int64, decide func(was int) (int, error)) error {
	if err := c.db.exec(ctx, q, "lock", tenant, user); err != nil {
		return err
	}
	var entries, was int
	var rank int64 // the highest
	if err := q.QueryRowContext(ctx, c.db.texts["entry"], tenant, user, other).Scan(&entries, &rank, &was); err != nil {
		return err
	}
	kind, err := decide(was)
	switch {
	case err != nil || kind == was:
		return err
	case kind == kindNone:
		err = c.db.exec(ctx, q, "remove", tenant, user, other)
	case was == kindNone && entries >= MaxEntries:
		return presence.ErrTooManyContacts
	default:
		err = c.db.exec(ctx, q, "put", tenant, user, other, kind, rank+1)
	}
	if err != nil {
		return err
	}
	return c.db.exec(ctx, q, "except", tenant, user, now)
}
