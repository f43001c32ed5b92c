package sqlstore

import (
	"database/sql"
	"sync"
	"time"
)

// An agenda remembers when something is due, so that a poll needs no query before, unless the data changes.
type agenda struct {
	mu      sync.Mutex
	version int64     // DataVersion before the query; 0: nothing is known
	due     time.Time // zero: nothing will be due
}

// rests reports whether nothing is due.
func (a *agenda) rests(version int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return version == a.version && (a.due.IsZero() || time.Now().Before(a.due))
}

// note takes the answer of the database: in how many milliseconds something is due, or NULL. It reports
// whether something is due now. version is of before the query.
func (a *agenda) note(version int64, in sql.NullInt64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version, a.due = version, time.Time{}
	if in.Valid {
		a.due = time.Now().Add(milliseconds(in.Int64))
	}
	return in.Valid && in.Int64 <= 0
}
