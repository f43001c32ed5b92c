package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

const raceUsers = 10_000

// Four nodes relay, mark and mail at once, of messages to some of 10,000 users each, in random
// order. Nobody waits for somebody who waits, nothing is lost, and the counters are right
// whenever somebody looks (rules F1, F3, F6).
func TestFeedsOfManyNodes(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		r := &race{TB: t, dsn: k.dsn(t), kind: k, want: make(map[feed.Name]int)}
		db := open(t, k, r.dsn)
		noError(t, newStore(t, db, sqlstore.Config{Dialect: k.dialect}).Migrate(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		var sending, working sync.WaitGroup
		var nodes []raceNode
		for range 4 {
			n := r.node()
			nodes = append(nodes, n)
			sending.Go(func() { r.send(n) })
			working.Go(func() { r.work(ctx, n) })
		}
		working.Go(func() { r.look(ctx, db) })
		sending.Wait()
		for began := time.Now(); r.waiting(db) > 0 && time.Since(began) < time.Minute; {
			time.Sleep(time.Millisecond)
		}
		cancel()
		working.Wait()
		r.check(db)
		for _, n := range nodes {
			n.db.Close()
		}
		checkDeadlocks(t, k, db)
	})
}

// A race is the test of one database.
type race struct {
	testing.TB
	kind kind
	dsn  string

	mu   sync.Mutex
	want map[feed.Name]int // messages by feed
}

type raceNode struct {
	db *sql.DB
	f  *sqlstore.Feeds
}

func (r *race) node() raceNode {
	db := open(r, r.kind, r.dsn)
	return raceNode{db, newStore(r, db, sqlstore.Config{Dialect: r.kind.dialect}).Feeds()}
}

// send sends messages, for about a minute in the long test. It waits while many wait: to send
// is far quicker than to relay.
func (r *race) send(n raceNode) {
	f, began := n.f, time.Now()
	for i := 0; i < 6 || os.Getenv(longEnv) != "" && time.Since(began) < time.Minute; i++ {
		for i >= 6 && r.waiting(n.db) > 50 {
			time.Sleep(10 * time.Millisecond)
		}
		m := feed.Message{ID: fmt.Sprint("m-", rand.Uint64()), About: "thread:1", Group: "g", Text: "text", Mail: true}
		for _, u := range rand.Perm(raceUsers)[:[]int{3, 40, 300}[i%3]] {
			m.To = append(m.To, presence.UserID(fmt.Sprint("user-", u)))
		}
		m.To = append(m.To, "user-0", "user-1") // whom everybody knows; each gets it once
		for err := f.Send(r.Context(), m); err != nil; err = f.Send(r.Context(), m) {
			if !busy(err) {
				r.Errorf("send: %v", err)
				return
			}
		}
		r.mu.Lock()
		slices.Sort(m.To)
		for _, user := range slices.Compact(m.To) {
			r.want[feed.Inbox(user)]++
		}
		r.mu.Unlock()
	}
}

// work relays, marks and mails until ctx ends.
func (r *race) work(ctx context.Context, n raceNode) {
	for ctx.Err() == nil {
		inbox := feed.Name(fmt.Sprint("inbox:user-", rand.IntN(3)))
		var err error
		switch rand.IntN(6) {
		default:
			var done feed.Relayed
			if done, err = n.f.Relay(r.Context(), relayOptions); len(done.Failed) > 0 {
				r.Errorf("relay: got %v", done.Failed)
			}
		case 0:
			_, err = n.f.Mark(r.Context(), inbox, feed.Mark{As: feed.Read, UpTo: 1 + rand.Int64N(30)})
		case 1:
			_, err = n.f.Mark(r.Context(), inbox, feed.Mark{Seen: true})
		case 2:
			var due []feed.Digest
			due, err = n.f.Due(r.Context(), 10, time.Minute)
			for _, d := range due {
				if err := n.f.Settle(r.Context(), d, true, time.Minute); err != nil && !busy(err) {
					r.Error(err)
				}
			}
		}
		if err != nil && !busy(err) {
			r.Error(err)
			return
		}
	}
}

// busy reports whether a writer of SQLite has waited in vain for five seconds, which is no
// fault where a busy machine has four of them. Nothing has changed then.
func busy(err error) bool { return strings.Contains(err.Error(), "SQLITE_BUSY") }

const miscounted = `SELECT count(*) FROM rollcall_feeds AS h
WHERE unread <> (SELECT count(*) FROM rollcall_items AS i WHERE i.tenant = h.tenant AND i.feed = h.feed AND state = 0)
   OR unseen <> (SELECT count(*) FROM rollcall_items AS i WHERE i.tenant = h.tenant AND i.feed = h.feed AND state = 0 AND i.pos > h.seen)
   OR items <> (SELECT count(*) FROM rollcall_items AS i WHERE i.tenant = h.tenant AND i.feed = h.feed)`

// look counts until ctx ends.
func (r *race) look(ctx context.Context, db *sql.DB) {
	looks := 0
	for ; ctx.Err() == nil; looks++ {
		if got := one[int](r, db, miscounted); got != 0 {
			r.Errorf("%d feeds have wrong counters (rule F3)", got)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	r.Logf("%d looks", looks)
}

func (r *race) waiting(db *sql.DB) int {
	return one[int](r, db, "SELECT count(*) FROM rollcall_outbox")
}

func (r *race) check(db *sql.DB) {
	r.Helper()
	if got := r.waiting(db); got != 0 {
		r.Errorf("%d messages wait", got)
	}
	if got := one[int](r, db, miscounted); got != 0 {
		r.Errorf("%d feeds have wrong counters (rule F3)", got)
	}
	rows, err := db.QueryContext(r.Context(), "SELECT feed, sum(n) FROM rollcall_items GROUP BY feed")
	if err != nil {
		r.Fatal(err)
	}
	defer rows.Close()
	got := make(map[feed.Name]int)
	for rows.Next() {
		var n feed.Name
		var count int
		if err := rows.Scan(&n, &count); err != nil {
			r.Fatal(err)
		}
		got[n] = count
	}
	if err := rows.Err(); err != nil {
		r.Fatal(err)
	}
	for n, want := range r.want {
		if got[n] != want {
			r.Errorf("%s: got %d messages, want %d (rule F1)", n, got[n], want)
		}
	}
	r.Logf("%d feeds", len(got))
}

// checkDeadlocks asks PostgreSQL whether there were deadlocks. The other connections must be
// closed: they say so when they end.
func checkDeadlocks(t testing.TB, k kind, db *sql.DB) {
	t.Helper()
	if k.dialect != sqlstore.Postgres {
		return
	}
	db.SetMaxOpenConns(1)
	for began := time.Now(); one[int](t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()") > 1; {
		if time.Since(began) > 20*time.Second {
			t.Fatal("connections stay open")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := one[int](t, db, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"); got != 0 {
		t.Errorf("got %d deadlocks (rule F6)", got)
	}
}

// Two transactions of the site notify the same people in opposite orders, and a relay runs
// between: nobody waits for anybody (rules F6, F10).
func TestSendTxInOppositeOrders(t *testing.T) {
	for _, k := range kinds() {
		if k.dialect != sqlstore.Postgres {
			continue // SQLite has one writer at a time
		}
		s, db := migrated(t, k)
		f := s.Feeds()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // who waits would wait for ever
		defer cancel()
		to := func(user presence.UserID) feed.Message {
			return feed.Message{To: []presence.UserID{user}, Text: "hello", About: "thread:1", Group: "g"}
		}
		noError(t, f.Send(ctx, to("alice"), to("bob")))
		var txs [2]*sql.Tx
		for i, order := range [][2]presence.UserID{{"alice", "bob"}, {"bob", "alice"}} {
			tx, err := db.BeginTx(ctx, nil)
			noError(t, err)
			defer tx.Rollback()
			noError(t, f.SendTx(ctx, tx, to(order[0])))
			txs[i] = tx
		}
		if done, err := f.Relay(ctx, relayOptions); err != nil || done.Moved != 2 {
			t.Errorf("a relay while transactions are open: got %+v, %v, want 2 moved", done, err)
		}
		for i, user := range []presence.UserID{"bob", "alice"} {
			noError(t, f.SendTx(ctx, txs[i], to(user)))
		}
		for _, tx := range txs {
			noError(t, tx.Commit())
		}
		if done, err := f.Relay(ctx, relayOptions); err != nil || done.Moved != 4 {
			t.Errorf("got %+v, %v, want 4 moved", done, err)
		}
		if h := head(t, f, "inbox:alice"); h.Unread != 1 || h.Rev != 2 {
			t.Errorf("got %+v, want one group", h)
		}
	}
}

// ExecFunc is all that a library's own Exec needs.
func TestExecFunc(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		s, db := migrated(t, k)
		var statements []string
		tx := sqlstore.ExecFunc(func(ctx context.Context, query string, args ...any) error {
			statements = append(statements, query)
			_, err := db.ExecContext(ctx, query, args...)
			return err
		})
		to := make([]presence.UserID, feed.MaxRecipients)
		for i := range to {
			to[i] = presence.UserID(fmt.Sprint("user-", i))
		}
		for name, ms := range map[string][]feed.Message{
			"one message to 1,000 users": {{To: to, Text: "a"}},
			"three messages":             {{To: to[:1], Text: "a"}, {To: to[:2], Text: "b"}, {Feed: "thread:1", Text: "c"}},
			"one message to 1,001 users": {{To: append(to[:len(to):len(to)], "another"), Text: "a"}},
		} {
			statements = nil
			noError(t, s.Feeds().SendTx(t.Context(), tx, ms...))
			if len(statements) != 1 || !strings.HasPrefix(statements[0], "INSERT INTO rollcall_outbox") {
				t.Errorf("%s: got %d statements %q, want one", name, len(statements), statements)
			}
		}
		if got := one[int](t, db, "SELECT count(*) FROM rollcall_outbox"); got != 6 {
			t.Errorf("got %d rows, want 6", got)
		}
	})
}
