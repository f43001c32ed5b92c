package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// An Execer runs a statement in a transaction of the site's: a *sql.Tx, a *sql.Conn, a
// *sql.DB, or an [ExecFunc].
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// An ExecFunc is an [Execer] made of a function, for drivers and libraries that have an Exec of
// their own. With pgx:
//
//	tx := sqlstore.ExecFunc(func(ctx context.Context, query string, args ...any) error {
//		_, err := pgxTx.Exec(ctx, query, args...)
//		return err
//	})
type ExecFunc func(ctx context.Context, query string, args ...any) error

// ExecContext implements [Execer]. It has no result.
func (f ExecFunc) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return nil, f(ctx, query, args...)
}

// An outbox takes messages.
type outbox struct {
	*feedRows
	empty atomic.Pointer[emptyOutbox] // nil: messages wait, or it is not known
}

// An emptyOutbox is the state of an outbox in which nothing waits, and DataVersion before the query.
type emptyOutbox struct {
	feed.Outbox
	version int64
}

// Send implements [feed.Store].
func (f *outbox) Send(ctx context.Context, ms ...feed.Message) (err error) {
	defer wrap(&err, "send")
	rows, err := outboxRows(ms)
	if err != nil {
		return err
	}
	if len(rows) <= rowsAtOnce {
		return f.put(ctx, f.db.pool, rows)
	}
	return f.db.transact(ctx, func(q querier) error { return f.put(ctx, q, rows) })
}

// SendTx puts messages into the outbox within a transaction of the site's own: they are sent if it commits,
// and never if it is rolled back. Call Keeper.Kick after the commit, or the messages wait for up to a second.
// It takes no lock that another sender needs, so transactions that notify people cannot deadlock.
//
// It is a method, because the statement depends on the Store's dialect. A message may have any number of
// recipients: one with more than [feed.MaxRecipients] becomes several rows. It returns
// [feed.ErrInvalidMessage], or an error of the database. Cost: one statement for 100 rows.
func (f *outbox) SendTx(ctx context.Context, tx Execer, ms ...feed.Message) (err error) {
	defer wrap(&err, "send")
	rows, err := outboxRows(ms)
	if err != nil {
		return err
	}
	return f.put(ctx, tx, rows)
}

// rowsAtOnce is how many rows one statement inserts into the outbox. A message with more than manyRecipients
// waits for those with fewer.
const (
	rowsAtOnce     = 100
	manyRecipients = 50
)

// An outboxRow is a message as the outbox has it.
type outboxRow struct {
	tenant, id  string
	message     string // JSON
	bulk, tries int
	due         int64
}

func (f *outbox) put(ctx context.Context, tx Execer, rows []outboxRow) error {
	s := f.db
	defer s.changed()
	for some := range slices.Chunk(rows, rowsAtOnce) {
		statement, args := "outbox_put", []any{some[0].tenant, some[0].id, some[0].message, some[0].bulk}
		if len(some) > 1 {
			list := make([][4]any, len(some))
			for i, r := range some {
				list[i] = [4]any{r.tenant, r.id, r.message, r.bulk}
			}
			statement, args = "outbox_put_all", []any{asJSON(list)}
		}
		if _, err := tx.ExecContext(ctx, s.texts[statement], args...); err != nil {
			return err
		}
	}
	return nil
}

// outboxRows returns the rows of messages, in their order, or an error that is
// feed.ErrInvalidMessage.
func outboxRows(ms []feed.Message) ([]outboxRow, error) {
	rows := make([]outboxRow, 0, len(ms))
	for _, m := range ms {
		to := eachOnce(m.To)
		for more := true; more; more = len(to) > 0 {
			part := to[:min(len(to), feed.MaxRecipients)]
			to = to[len(part):]
			m.To = part
			if err := m.Validate(); err != nil {
				return nil, err
			}
			message, err := json.Marshal(m)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", feed.ErrInvalidMessage, err)
			}
			row := outboxRow{tenant: m.Tenant, id: newOutboxID(), message: string(message)}
			if len(part) > manyRecipients {
				row.bulk = 1
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// eachOnce returns the users of a list in their order, each once.
func eachOnce(users []presence.UserID) []presence.UserID {
	if len(users) < 2 {
		return users
	}
	had := make(map[presence.UserID]struct{}, len(users))
	each := make([]presence.UserID, 0, len(users))
	for _, user := range users {
		if _, ok := had[user]; !ok {
			had[user] = struct{}{}
			each = append(each, user)
		}
	}
	return each
}

// latestID is the time in the latest id that this process made.
var latestID atomic.Int64

// newOutboxID returns a random id. The ids of one process sort in the order in which they were made, so that
// messages of one moment are relayed in order.
func newOutboxID() string {
	now := time.Now().UnixNano()
	for {
		last := latestID.Load()
		next := max(now, last+1)
		if latestID.CompareAndSwap(last, next) {
			now = next
			break
		}
	}
	id := make([]byte, 20)
	binary.BigEndian.PutUint64(id, uint64(now))
	rand.Read(id[8:])
	return strings.ToLower(base32.HexEncoding.EncodeToString(id))
}

// Waiting implements [feed.Store]. While nothing waits, it is no query until the data changes.
func (f *outbox) Waiting(ctx context.Context) (o feed.Outbox, err error) {
	defer wrap(&err, "outbox")
	version := f.db.DataVersion()
	if empty := f.empty.Load(); empty != nil && empty.version == version {
		return empty.Outbox, nil
	}
	var oldest int64
	err = f.db.pool.QueryRowContext(ctx, f.db.texts["outbox_waiting"]).Scan(&o.Waiting, &o.Failed, &oldest)
	if err != nil {
		return feed.Outbox{}, err
	}
	if o.Waiting > 0 {
		o.Oldest = max(milliseconds(oldest), 0)
		return o, nil
	}
	f.empty.Store(&emptyOutbox{o, version})
	return o, nil
}
