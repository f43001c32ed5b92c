package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Bounds of one call, as in presence.Directory.
const (
	maxSettingsAtOnce  = 500
	maxSawAtOnce       = 500
	maxLastSeenAtOnce  = 1_000
	maxRelationsAtOnce = 1_000
)

// People is the [presence.Directory] of a [Store]. All methods may be called concurrently. They take and
// return ids inside, of any tenant. An invalid id counts as an unknown user, and a method that would write it
// returns [presence.ErrInvalidUser].
//
// If a call has more users than the method allows, it returns [presence.ErrTooManyPeople]. Other errors are
// the database's.
type People struct {
	*contacts
	db       *database
	erasures agenda
}

var _ presence.Directory = (*People)(nil)

// Settings implements [presence.Directory].
func (p *People) Settings(ctx context.Context, users ...presence.UserID) (all []presence.Settings, err error) {
	defer wrap(&err, "settings")
	seen, err := p.read(ctx, users, maxSettingsAtOnce)
	if err != nil {
		return nil, err
	}
	all = make([]presence.Settings, len(seen))
	for i, s := range seen {
		all[i] = s.Settings
	}
	return all, nil
}

// LastSeen implements [presence.Directory].
func (p *People) LastSeen(ctx context.Context, users ...presence.UserID) (all []presence.Seen, err error) {
	defer wrap(&err, "last seen")
	return p.read(ctx, users, maxLastSeenAtOnce)
}

// read returns what is known of each user, in order.
func (p *People) read(ctx context.Context, users []presence.UserID, most int) ([]presence.Seen, error) {
	all := make([]presence.Seen, len(users))
	if len(users) == 0 {
		return all, ctx.Err()
	}
	if err := few(len(users), most); err != nil {
		return nil, err
	}
	valid := make([][2]string, 0, len(users))
	for _, user := range users {
		if checkID(user) == nil {
			valid = append(valid, [2]string{user.Tenant(), string(user.Local())})
		}
	}
	offset, err := p.db.clock.read(ctx)
	if err != nil {
		return nil, err
	}
	known := make(map[presence.UserID]presence.Seen, len(valid))
	err = p.db.query(ctx, "people", func(rows *sql.Rows) error {
		var tenant string
		var user presence.UserID
		var row presence.Seen
		var seen, until int64
		s := &row.Settings
		if err := rows.Scan(&tenant, &user, &seen, &s.Status, &until, &s.Text, &s.Online, &s.Seen, &s.Later, &s.Except, &s.Rev); err != nil {
			return err
		}
		row.At, s.Until = fromDatabase(seen, offset), fromDatabase(until, offset)
		known[user.In(tenant)] = row
		return nil
	}, asJSON(valid))
	if err != nil {
		return nil, err
	}
	for i, user := range users {
		all[i] = known[user]
	}
	return all, nil
}

// SetSettings implements [presence.Directory]. Times are kept to the millisecond.
func (p *People) SetSettings(ctx context.Context, user presence.UserID, s presence.Settings) (rev int64, err error) {
	defer wrap(&err, "set settings")
	if err := cmp.Or(checkID(user), s.Validate()); err != nil {
		return 0, err
	}
	offset, err := p.db.clock.read(ctx)
	if err != nil {
		return 0, err
	}
	err = p.db.pool.QueryRowContext(ctx, p.db.texts["set_settings"],
		user.Tenant(), string(user.Local()), string(s.Status), toDatabase(s.Until, offset), s.Text,
		string(s.Online), string(s.Seen), string(s.Later), s.Rev, toDatabase(p.db.clock.now(), offset)).Scan(&rev)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, presence.ErrLaterChoice
	}
	return rev, explain(err)
}

// Saw implements [presence.Directory]. A moment in the future counts as now.
func (p *People) Saw(ctx context.Context, at map[presence.UserID]time.Time) (err error) {
	defer wrap(&err, "saw")
	if err := few(len(at), maxSawAtOnce); err != nil {
		return err
	}
	offset, err := p.db.clock.read(ctx)
	if err != nil {
		return err
	}
	now := p.db.clock.now()
	moments := make([][3]any, 0, len(at))
	for _, user := range slices.Sorted(maps.Keys(at)) {
		seen := at[user]
		if seen.After(now) {
			seen = now
		}
		if checkID(user) == nil && !seen.IsZero() {
			moments = append(moments, [3]any{user.Tenant(), user.Local(), toDatabase(seen, offset)})
		}
	}
	if len(moments) == 0 {
		return ctx.Err()
	}
	return p.db.exec(ctx, p.db.pool, "saw", asJSON(moments))
}

// Forget removes all that is kept of a user: settings, last seen, contacts, and entries of others about the
// user. End the user's sessions first, since a node that still holds one will write when it last saw the
// user. Cost: it reads all contacts of the tenant, so run it apart from requests.
func (p *People) Forget(ctx context.Context, user presence.UserID) (err error) {
	defer wrap(&err, "forget")
	if checkID(user) != nil {
		return ctx.Err()
	}
	s := p.db
	return s.transact(ctx, func(q querier) error {
		return errors.Join(
			s.exec(ctx, q, "forget_person", user.Tenant(), string(user.Local())),
			s.exec(ctx, q, "forget_contacts", user.Tenant(), string(user.Local())))
	})
}

// checkID returns nil, or an error that is presence.ErrInvalidUser. Invalid ids are not sent to the database:
// PostgreSQL cannot store a byte 0, and one such id would fail a whole batch.
func checkID(user presence.UserID) error { return presence.User{ID: user}.ValidateInside() }

func few(n, most int) error {
	if n > most {
		return fmt.Errorf("%w: %d, and %d are allowed at once", presence.ErrTooManyPeople, n, most)
	}
	return nil
}

// asJSON returns a list as one parameter of a statement, so that the statement's text is the same for any
// number of users.
func asJSON[T any](list []T) string {
	b, err := json.Marshal(list)
	if err != nil {
		return "[]" // strings and numbers always encode
	}
	return string(b)
}
