package sqlstore

import (
	"context"
	"database/sql"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

var (
	_ backend.UserRecords = (*People)(nil)
	_ backend.ErasureList = (*People)(nil)
)

// AddErasure implements [backend.ErasureList].
func (p *People) AddErasure(ctx context.Context, user presence.UserID, hold time.Duration) (e backend.Erasure, err error) {
	defer wrap(&err, "add an erasure")
	if err := checkID(user); err != nil {
		return e, err
	}
	offset, err := p.db.clock.read(ctx)
	if err != nil {
		return e, err
	}
	var asked int64
	now := p.db.clock.now()
	defer p.db.changed()
	err = p.db.pool.QueryRowContext(ctx, p.db.texts["erasure_put"], user.Tenant(), string(user.Local()),
		toDatabase(now, offset), toDatabase(now.Add(hold), offset)).Scan(&asked)
	if err != nil {
		return e, err
	}
	return backend.Erasure{User: user, ID: strconv.FormatInt(asked, 10)}, nil
}

// ClaimErasures implements [backend.ErasureList]. While nothing is due it is one query, or none if the data is
// as it was.
func (p *People) ClaimErasures(ctx context.Context, most int, hold time.Duration) (claimed []backend.Erasure, err error) {
	defer wrap(&err, "claim erasures")
	version := p.db.DataVersion()
	if p.erasures.rests(version) {
		return nil, nil
	}
	offset, err := p.db.clock.read(ctx)
	if err != nil {
		return nil, err
	}
	now := p.db.clock.now()
	var first sql.NullInt64
	err = p.db.pool.QueryRowContext(ctx, p.db.texts["erasure_first"], toDatabase(now, offset)).Scan(&first)
	if err != nil || !p.erasures.note(version, first) {
		return nil, err
	}
	err = p.db.query(ctx, "erasure_claim", func(rows *sql.Rows) error {
		var tenant string
		var user presence.UserID
		var asked int64
		err := rows.Scan(&tenant, &user, &asked)
		ago := max(now.Sub(fromDatabase(asked, offset)), 0)
		claimed = append(claimed, backend.Erasure{User: user.In(tenant), Ago: ago, ID: strconv.FormatInt(asked, 10)})
		return err
	}, toDatabase(now, offset), toDatabase(now.Add(hold), offset), most)
	return claimed, err
}

// EndErasure implements [backend.ErasureList].
func (p *People) EndErasure(ctx context.Context, e backend.Erasure) (err error) {
	defer wrap(&err, "end an erasure")
	asked, err := strconv.ParseInt(e.ID, 10, 64)
	if err != nil {
		return err
	}
	return p.db.exec(ctx, p.db.pool, "erasure_end", e.User.Tenant(), string(e.User.Local()), asked)
}

// EraseUser implements [backend.UserRecords]: settings, last seen, contacts, and what others have
// said of the user. It reads all contacts of the tenant.
func (p *People) EraseUser(ctx context.Context, e backend.Erasure) error {
	return p.Forget(ctx, e.User)
}

// ExportUser implements [backend.UserRecords]. It costs two queries.
func (p *People) ExportUser(ctx context.Context, user presence.UserID) ([]backend.Kept, error) {
	seen, err := p.LastSeen(ctx, user)
	if err != nil {
		return nil, err
	}
	said, err := p.List(ctx, user)
	if err != nil {
		return nil, err
	}
	contacts, blocked := []presence.UserID{}, []presence.UserID{}
	for _, entry := range said {
		if entry.Relation == presence.Contact {
			contacts = append(contacts, entry.User.Local())
		} else {
			blocked = append(blocked, entry.User.Local())
		}
	}
	s := seen[0].Settings
	settings := struct {
		Status presence.Status   `json:"status"`
		Until  time.Time         `json:"until,omitzero"`
		Text   string            `json:"text"`
		Online presence.Audience `json:"online"`
		Seen   presence.Audience `json:"seen"`
		Later  presence.Audience `json:"seen_later,omitempty"`
	}{s.Status, s.Until, s.Text, s.Online, s.Seen, s.Later}
	at := struct {
		At time.Time `json:"at,omitzero"`
	}{seen[0].At}
	return []backend.Kept{
		{Part: "settings", Retention: "until you change them, or erase your account", Data: settings},
		{Part: "last_seen", Retention: "the latest moment alone, until you erase your account", Data: at},
		{Part: "contacts", Retention: "until you or the contact erase the account, or you take the contact off", Data: contacts},
		{Part: "blocked", Retention: "until you or the other one erase the account, or you lift it", Data: blocked},
	}, nil
}
