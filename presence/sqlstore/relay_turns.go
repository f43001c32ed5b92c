package sqlstore

import (
	"context"
	"database/sql"
)

// turns are the tenants whose messages one call of Relay moves, each by one batch. The next call continues
// with the tenant after the last one. So a tenant with 100,000 messages delays another one by a batch, and
// not by all of them.
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

// find appends tenants, beginning with one name, and ending before another; "" for no end.
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

// next returns the tenant whose turn it is. ok is false if the call has moved enough, or no tenant is left.
func (t *turns) next(rows, items int) (tenant string, ok bool) {
	if len(t.due) == 0 || rows >= relayedRows || items >= relayedItems {
		t.more = len(t.due) > 0
		return "", false
	}
	tenant, t.due = t.due[0], t.due[1:]
	t.f.goOn(tenant + "\x01") // the first possible name after it; PostgreSQL does not store a byte 0
	return tenant, true
}

// goOn makes the next call of Relay begin with a tenant, or with the first one after that name.
func (f *relayer) goOn(from string) {
	f.mu.Lock()
	f.from = from
	f.mu.Unlock()
}
