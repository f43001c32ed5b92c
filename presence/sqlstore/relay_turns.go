package sqlstore

import (
	"context"
	"database/sql"
)

// turns are the tenants whose messages one call of Relay moves, each by one batch. The next call
// goes on with the tenant behind the last one: a tenant with 100,000 messages holds up another one
// by a batch, and not by all of them.
type turns struct {
	f    *relayer
	due  []string // in the order of their turns
	more bool     // there are others
}

// tenantsAtOnce is how many tenants one query finds.
const tenantsAtOnce = 200

// turns returns the tenants with messages that are due. While none are it is one query.
func (f *relayer) turns(ctx context.Context) (*turns, error) {
	f.mu.Lock()
	from := f.from
	f.mu.Unlock()
	t := &turns{f: f}
	if err := t.find(ctx, from, ""); err != nil {
		return nil, err
	}
	if from != "" && len(t.due) < tenantsAtOnce {
		if err := t.find(ctx, "", from); err != nil {
			return nil, err
		}
	}
	if len(t.due) == 0 {
		f.goOn("")
	}
	return t, nil
}

// find appends tenants from one name on, and before another one; "" for no end.
func (t *turns) find(ctx context.Context, from, before string) error {
	return t.f.db.query(ctx, "outbox_tenants", func(rows *sql.Rows) error {
		var tenant string
		err := rows.Scan(&tenant)
		if before == "" || tenant < before {
			t.due = append(t.due, tenant)
		}
		return err
	}, from, tenantsAtOnce)
}

// next returns the tenant whose turn it is, unless the call has moved enough.
func (t *turns) next(rows, items int) (tenant string, ok bool) {
	if len(t.due) == 0 || rows >= relayedRows || items >= relayedItems {
		t.more = len(t.due) > 0
		return "", false
	}
	tenant, t.due = t.due[0], t.due[1:]
	t.f.goOn(tenant + "\x01") // the first name behind it, without the byte 0, which PostgreSQL keeps in no text
	return tenant, true
}

// goOn has the next call of Relay begin with a tenant, or the first one behind that name.
func (f *relayer) goOn(from string) {
	f.mu.Lock()
	f.from = from
	f.mu.Unlock()
}
