package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// errRight rolls back a transaction in which the counters were right.
var errRight = errors.New("the counters are right")

// A recounter mends the counters of feeds.
type recounter struct {
	*feedRows

	mu    sync.Mutex
	after place // the last feed that Recount looked at
}

// Recount implements [feed.Store]. It goes through the feeds of all tenants, beginning where the last call of
// this Feeds ended. A feed with wrong counters gets a new revision with the right ones.
func (f *recounter) Recount(ctx context.Context, most int) (wrong int, err error) {
	defer wrap(&err, "recount")
	f.mu.Lock()
	after := f.after
	f.mu.Unlock()
	var bad []feed.Name
	var last place
	looked := 0
	err = f.db.query(ctx, "recount", func(rows *sql.Rows) error {
		var is int
		if err := rows.Scan(&last.tenant, &last.feed, &is); err != nil {
			return err
		}
		looked++
		if is == 1 {
			bad = append(bad, last.name())
		}
		return nil
	}, after.tenant, after.feed, most)
	for _, name := range bad {
		if err == nil {
			err = f.change(ctx, name, func(q querier, h *lockedHead, _ int64) error {
				head, err := f.count(ctx, q, h, h.Rev+1, h.seen, sql.NullInt64{})
				if err == nil && head.Unread == h.Unread && head.Unseen == h.Unseen {
					return errRight // another call has corrected it meanwhile
				}
				return err
			})
		}
		switch err {
		case nil:
			wrong++
		case errRight:
			err = nil
		}
	}
	if err != nil {
		return wrong, err
	}
	if looked < most {
		last = place{} // the next call starts from the beginning
	}
	f.mu.Lock()
	f.after = last
	f.mu.Unlock()
	return wrong, nil
}
