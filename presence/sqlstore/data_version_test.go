package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/rollcall-go/rollcall/internal/pgtest"
	"github.com/rollcall-go/rollcall/internal/sqlcount"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// waitPgx is a sqlstore.WaitFunc.
func waitPgx(ctx context.Context, conn *sql.Conn) (payload string, err error) {
	err = conn.Raw(func(c any) error {
		if counted, ok := c.(*sqlcount.Conn); ok {
			c = counted.Conn
		}
		n, err := c.(*stdlib.Conn).Conn().WaitForNotification(ctx)
		if err == nil {
			payload = n.Payload
		}
		return err
	})
	return payload, err
}

// listen has a store listen until the test ends.
func listen(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Listen(ctx, waitPgx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

// rests reports whether a store knows that nothing changes.
func rests(s *sqlstore.Store) bool {
	before := s.DataVersion()
	return before == s.DataVersion()
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("not after a minute: " + what)
		}
	}
}

// A quietDatabase is a database whose changes the store notices, which nobody has changed for long.
type quietDatabase struct {
	*sqlstore.Store
	other *sql.DB // of another program
	count *sqlcount.Counter
	quiet func() // makes the latest change an old one
}

// eachQuiet runs a test on each kind of database that other programs may change.
func eachQuiet(t *testing.T, test func(t *testing.T, d quietDatabase)) {
	for name, dsn := range map[string]func(path string) string{
		"SQLite":         sqlstore.SQLiteDSN,
		"SQLite_journal": func(path string) string { return "file:" + path + "?_pragma=busy_timeout(5000)" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "site.db")
			k := kinds()[1]
			db, count := sqlcount.Open(t, k.driver, dsn(path))
			d := quietDatabase{newStore(t, db, sqlstore.Config{Dialect: k.dialect}), open(t, k, dsn(path)), count, func() {
				for _, file := range []string{path, path + "-wal"} {
					if err := os.Chtimes(file, time.Time{}, time.Now().Add(-time.Minute)); !errors.Is(err, fs.ErrNotExist) {
						noError(t, err)
					}
				}
			}}
			noError(t, d.Migrate(t.Context()))
			test(t, d)
		})
	}
	t.Run("Postgres", func(t *testing.T) {
		t.Parallel()
		k := kinds()[2]
		dsn := k.dsn(t)
		db, count := sqlcount.Open(t, k.driver, dsn)
		d := quietDatabase{newStore(t, db, sqlstore.Config{Dialect: k.dialect}), open(t, k, dsn), count, func() {}}
		noError(t, d.Migrate(t.Context()))
		if rests(d.Store) {
			t.Error("the store knows of changes without Listen")
		}
		listen(t, d.Store)
		eventually(t, "the store listens", func() bool { return rests(d.Store) })
		test(t, d)
	})
}

// A change of any program is noticed. What changes nothing is not.
func TestDataVersion(t *testing.T) {
	eachQuiet(t, func(t *testing.T, d quietDatabase) {
		for _, change := range []string{
			"INSERT INTO rollcall_outbox (id, message) VALUES ('1', '{}')",
			"UPDATE rollcall_outbox SET tries = 0, due = 0",
			"INSERT INTO rollcall_feeds (feed, born) VALUES ('inbox:a', 1)",
			"UPDATE rollcall_feeds SET rev = 2",
			"DELETE FROM rollcall_feeds",
			"INSERT INTO rollcall_erasures (user_id, asked, due) VALUES ('a', 1, 1)",
		} {
			d.quiet()
			version := d.DataVersion()
			must(t, d.other, "SELECT 1 FROM rollcall_outbox")
			for range 100 {
				if d.DataVersion() != version {
					t.Fatalf("before %s: got another version, and nothing has changed", change)
				}
			}
			must(t, d.other, change)
			eventually(t, change, func() bool { return d.DataVersion() != version })
		}
	})
}

// Of a database in memory, only what goes through the store is noticed. Migrate counts as a change.
func TestDataVersionInMemory(t *testing.T) {
	t.Parallel()
	s, _ := migrated(t, kinds()[0])
	time.Sleep(2200 * time.Millisecond) // the tables are no longer new
	for name, change := range map[string]func() error{
		"Send": func() error {
			return s.Feeds().Send(t.Context(), feed.Message{To: []presence.UserID{"alice"}, Type: "reply", Text: "hello"})
		},
		"Transact": func() error { return s.Transact(t.Context(), func(sqlstore.Tx) error { return nil }) },
		"Migrate":  func() error { return s.Migrate(t.Context()) },
	} {
		version := s.DataVersion()
		noError(t, change())
		if s.DataVersion() == version {
			t.Errorf("%s: got the version of before", name)
		}
	}
	time.Sleep(2200 * time.Millisecond)
	if !rests(s) {
		t.Error("the store does not rest")
	}
}

// A transaction is noticed when it is committed, and not before.
func TestDataVersionOfTransaction(t *testing.T) {
	eachQuiet(t, func(t *testing.T, d quietDatabase) {
		for _, commit := range []bool{false, true} {
			tx, err := d.other.BeginTx(t.Context(), nil)
			noError(t, err)
			_, err = tx.ExecContext(t.Context(), "INSERT INTO rollcall_outbox (id, message) VALUES ('1', '{}')")
			noError(t, err)
			d.quiet()
			version := d.DataVersion()
			if !commit {
				noError(t, tx.Rollback())
				continue
			}
			noError(t, tx.Commit())
			eventually(t, "the commit is noticed", func() bool { return d.DataVersion() != version })
		}
	})
}

// poll makes all queries that a site repeats.
func (d quietDatabase) poll(t *testing.T, feeds *sqlstore.Feeds, people *sqlstore.People) (moved int) {
	t.Helper()
	done, err := feeds.Relay(t.Context(), feed.RelayOptions{Poll: true})
	noError(t, err)
	_, err = feeds.Waiting(t.Context())
	noError(t, err)
	_, err = feeds.Due(t.Context(), 10, time.Minute)
	noError(t, err)
	_, err = people.ClaimErasures(t.Context(), 10, time.Minute)
	noError(t, err)
	return done.Moved
}

// A database in which nothing happens gets no statements, however often a site polls. A message of another
// program is moved by the next poll.
func TestNoStatementsAtRest(t *testing.T) {
	eachQuiet(t, func(t *testing.T, d quietDatabase) {
		feeds, people := d.Feeds(), d.People()
		for _, id := range []string{"1", "2"} {
			d.quiet()
			d.poll(t, feeds, people)
			d.count.Take()
			for range 100 {
				if d.poll(t, feeds, people) != 0 {
					t.Fatal("got a message")
				}
			}
			if got := d.count.Take(); len(got) > 20 { // a notification of what the relay did may be late
				t.Errorf("got %d statements of 100 polls at rest, want none, as\n%s", len(got), got[0])
			}
			must(t, d.other, "INSERT INTO rollcall_outbox (id, message) VALUES ($1, $2)", id, `{"to":["alice"],"type":"reply","text":"hello"}`)
			eventually(t, "the message arrives", func() bool { return d.poll(t, feeds, people) == 1 })
		}
	})
}

// A message that could not be moved is tried again when it is due, although nothing has changed.
func TestRestEndsWhenSomethingIsDue(t *testing.T) {
	eachQuiet(t, func(t *testing.T, d quietDatabase) {
		feeds := d.Feeds()
		must(t, d.other, "INSERT INTO rollcall_outbox (id, message) VALUES ('1', '{')")
		tries := func() int { return one[int](t, d.other, "SELECT tries FROM rollcall_outbox") }
		eventually(t, "the second try", func() bool {
			d.quiet()
			_, err := feeds.Relay(t.Context(), feed.RelayOptions{Poll: true})
			noError(t, err)
			return tries() == 2
		})
	})
}

// While PostgreSQL is out, nothing is known of changes. When it is back, they are noticed again.
func TestListenAgain(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	k := kinds()[2]
	db := open(t, k, server.Database(t))
	s := newStore(t, db, sqlstore.Config{Dialect: k.dialect})
	noError(t, s.Migrate(t.Context()))
	listen(t, s)
	eventually(t, "the store listens", func() bool { return rests(s) })
	version := s.DataVersion()
	server.Stop()
	eventually(t, "the store notices the outage", func() bool { return !rests(s) })
	server.Run(t)
	eventually(t, "the store listens again", func() bool { return rests(s) })
	if s.DataVersion() == version {
		t.Error("got the version of before the outage: what was committed meanwhile would be missed")
	}
}

// A store that begins to listen waits for transactions that do not notify it.
func TestListenOutlivesTransactions(t *testing.T) {
	t.Parallel()
	k := kinds()[2]
	s, db := migrated(t, k)
	tx, err := db.BeginTx(t.Context(), nil)
	noError(t, err)
	_, err = tx.ExecContext(t.Context(), "INSERT INTO rollcall_outbox (id, message) VALUES ('1', '{}')")
	noError(t, err)
	listen(t, s)
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if rests(s) {
			t.Fatal("the store rests, and does not know what the transaction will commit")
		}
	}
	version := s.DataVersion()
	noError(t, tx.Commit())
	eventually(t, "the store listens", func() bool { return rests(s) })
	if s.DataVersion() == version {
		t.Error("got the version of before the commit")
	}
}

// PostgreSQL commits transactions that notify one by one. So nobody notifies while many would, or none listens.
func TestNobodyNotifiesWhileBusy(t *testing.T) {
	t.Parallel()
	k := kinds()[2]
	s, db := migrated(t, k)
	listen(t, s)
	eventually(t, "the store listens", func() bool { return rests(s) })
	for i := range 100 {
		must(t, db, "INSERT INTO rollcall_outbox (id, message) VALUES ($1, '{}')", strconv.Itoa(i))
	}
	eventually(t, "the store polls", func() bool { return !rests(s) })
	eventually(t, "the trigger does not notify", func() bool {
		return one[bool](t, db, "SELECT pg_try_advisory_xact_lock(7237081446398123621)")
	})
}
