package main

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// sessionTable holds the sessions of the forum. It has no tokens: an id is a hash of one. Times are Unix
// milliseconds by the database's clock. A session whose ended is 0 has not ended. Ids of two tenants always
// differ: see sessionOf.
var sessionTable = []string{
	`CREATE TABLE IF NOT EXISTS forum_sessions (user_id text NOT NULL, id text NOT NULL,
		created bigint NOT NULL, ended bigint NOT NULL DEFAULT 0, tenant text NOT NULL DEFAULT '', PRIMARY KEY (user_id, id))`,
	`CREATE INDEX IF NOT EXISTS forum_sessions_ended ON forum_sessions (ended)`,
}

// sessionTrigger has PostgreSQL notify all nodes of a session that ends: see sqlstore.Store.Listen. SQLite
// needs none.
var sessionTrigger = []string{
	`DROP TRIGGER IF EXISTS forum_sessions_changed ON forum_sessions`,
	`CREATE TRIGGER forum_sessions_changed AFTER INSERT OR UPDATE ON forum_sessions
		FOR EACH ROW WHEN (NEW.ended > 0) EXECUTE FUNCTION rollcall_changed()`,
}

const (
	endedEvery   = 250 * time.Millisecond // how often a node asks which sessions have ended, while the data changes
	endedOverlap = 10 * time.Second       // how long after its write an ended session may become visible
	maxEnded     = 100_000                // how many ended sessions a node remembers
	clockSlack   = 5 * time.Minute        // how far the clocks of a node and the database may be apart
	prepareEvery = 2 * time.Second        // how often to try a database that was unreachable at the start
	queryWait    = 2 * time.Second        // the longest time for one query of watchEnded
	purgeEvery   = time.Hour
)

// endedSessions has the sessions that have ended and whose tokens would otherwise still be valid. It may be
// used concurrently.
type endedSessions struct {
	mu     sync.RWMutex
	at     map[sessionName]int64 // when each ended, by the database's clock
	latest int64                 // the latest time in at
	least  time.Time             // all sessions that began before this have ended, listed or not
}

// A sessionName is the key of a session in the database.
type sessionName struct {
	tenant string
	user   presence.UserID // the user as identify names it
	id     presence.DeviceID
}

func newEndedSessions() *endedSessions { return &endedSessions{at: make(map[sessionName]int64)} }

// has reports whether a session has ended.
func (e *endedSessions) has(s session, now time.Time) bool {
	if s.begun.Before(now.Add(-sessionAge)) {
		return true
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	_, ended := e.at[s.sessionName]
	return ended || s.begun.Before(e.least)
}

// add stores that a session has ended, and reports whether that is new.
func (e *endedSessions) add(name sessionName, at int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, known := e.at[name]
	e.at[name] = at
	e.latest = max(e.latest, at)
	if len(e.at) > maxEnded {
		e.forgetLocked()
	}
	return !known
}

// forgetLocked drops the half of the sessions that ended first. They stay ended: from now on all sessions
// count as ended that began before the last of these ended.
func (e *endedSessions) forgetLocked() {
	times := make([]int64, 0, len(e.at))
	for _, at := range e.at {
		times = append(times, at)
	}
	slices.Sort(times)
	cut := times[len(times)/2]
	for name, at := range e.at {
		if at <= cut {
			delete(e.at, name)
		}
	}
	e.least = time.UnixMilli(cut).Add(clockSlack)
}

// since returns the time from which on to ask the database.
func (e *endedSessions) since() int64 {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return max(e.latest-endedOverlap.Milliseconds(), 0)
}

// begin stores a session that begins now.
func (d *database) begin(ctx context.Context, s session) error {
	_, err := d.ExecContext(ctx, `INSERT INTO forum_sessions (tenant, user_id, id, created) VALUES ($1, $2, $3, `+d.now+`)
		ON CONFLICT DO NOTHING`, s.tenant, string(s.user), string(s.id))
	return err
}

// end stores that a session has ended, and reports whether the database had the session. If missing is true,
// it also stores a session that the database did not have.
func (d *database) end(ctx context.Context, name sessionName, missing bool) (bool, error) {
	found, err := d.endBy(ctx, `UPDATE forum_sessions SET ended = `+d.now+`
		WHERE tenant = $1 AND user_id = $2 AND id = $3 AND ended = 0 RETURNING ended`, name)
	if err == nil && !found && missing {
		_, err = d.endBy(ctx, `INSERT INTO forum_sessions (tenant, user_id, id, created, ended)
			VALUES ($1, $2, $3, `+d.now+`, `+d.now+`) ON CONFLICT DO NOTHING RETURNING ended`, name)
	}
	return found, err
}

// endBy runs a statement that ends at most one session and returns the time. It also adds the session to the
// ended ones on this node.
func (d *database) endBy(ctx context.Context, statement string, name sessionName) (bool, error) {
	var at int64
	err := d.QueryRowContext(ctx, statement, name.tenant, string(name.user), string(name.id)).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err == nil {
		d.ended.add(name, at)
	}
	return err == nil, err
}

// readEnded reads the sessions that have ended lately, and returns those that are new to this node.
func (d *database) readEnded(ctx context.Context) (fresh []sessionName, err error) {
	rows, err := d.QueryContext(ctx, `SELECT tenant, user_id, id, ended FROM forum_sessions WHERE ended > $1 AND ended > `+d.now+` - $2
		ORDER BY ended`, d.ended.since(), sessionAge.Milliseconds())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name sessionName
		var at int64
		if err := rows.Scan(&name.tenant, &name.user, &name.id, &at); err != nil {
			return fresh, err
		}
		if d.ended.add(name, at) {
			fresh = append(fresh, name)
		}
	}
	return fresh, rows.Err()
}

// watchEnded reads which sessions end on other nodes, until ctx ends. It prepares the database if that was
// unreachable at the start. It logs when the database becomes unreachable and when it is back.
func (d *database) watchEnded(ctx context.Context, onEnd func(sessionName)) {
	wait, purged := endedEvery, time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = endedEvery
		if err := d.step(ctx, onEnd); err != nil {
			wait = prepareEvery
			if ctx.Err() == nil && !d.out {
				d.out = true
				d.log.Warn("the database is out; nothing can be changed or written until it is back", "err", err)
			}
			continue
		}
		if d.out {
			d.out = false
			d.log.Info("the database is back")
		}
		if time.Since(purged) > purgeEvery {
			purged = time.Now()
			d.purge(ctx)
		}
	}
}

// step is one round of watchEnded.
func (d *database) step(ctx context.Context, onEnd func(sessionName)) error {
	ctx, cancel := context.WithTimeout(ctx, queryWait)
	defer cancel()
	if !d.prepared {
		return d.prepare(ctx)
	}
	version := d.store.DataVersion()
	if version == d.read {
		return nil
	}
	fresh, err := d.readEnded(ctx)
	for _, name := range fresh {
		onEnd(name)
	}
	if err == nil {
		d.read = version
	}
	return err
}

// purge deletes the sessions whose tokens are too old to be valid.
func (d *database) purge(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, queryWait)
	defer cancel()
	least := d.now + " - $1"
	_, _ = d.ExecContext(ctx, `DELETE FROM forum_sessions WHERE created < `+least+` AND (ended = 0 OR ended < `+least+`)`,
		(sessionAge + clockSlack).Milliseconds()) // after an error, the next hour's purge does it
}
