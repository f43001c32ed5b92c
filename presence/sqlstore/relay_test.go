package sqlstore_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// poisoned has the database refuse items whose text is "poison".
func poisoned(t *testing.T, k kind) *sqlstore.Feeds {
	s, db := migrated(t, k)
	if k.dialect == sqlstore.SQLite {
		must(t, db, "CREATE TRIGGER poison BEFORE INSERT ON rollcall_items WHEN new.text = 'poison' BEGIN SELECT RAISE(ABORT, 'refused'); END")
	} else {
		must(t, db, "CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$")
		must(t, db, "CREATE TRIGGER poison BEFORE INSERT ON rollcall_items FOR EACH ROW WHEN (new.text = 'poison') EXECUTE FUNCTION poison()")
	}
	return s.Feeds()
}

// A message that the database refuses holds up no other, and is given up after ten tries
// (rule F1).
func TestRelayOfWhatTheDatabaseRefuses(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		f := poisoned(t, k)
		s, db := f.Store(), f.Store().DB()
		to := []presence.UserID{"alice"}
		noError(t, f.Send(t.Context(), feed.Message{To: to, Text: "one"}, feed.Message{To: to, Text: "poison"}, feed.Message{To: to, Text: "two"}))
		done, err := f.Relay(t.Context(), relayOptions)
		if err != nil || done.Moved != 2 || done.Failed["database"] != 1 || !done.More {
			t.Errorf("got %+v, %v, want 2 moved, one failed, and more", done, err)
		}
		if h := head(t, f, "inbox:alice"); h.Unread != 2 || h.Unseen != 2 {
			t.Errorf("got %+v, want 2 items", h)
		}
		if reason := one[string](t, db, "SELECT error FROM rollcall_outbox"); !strings.Contains(reason, "refused") {
			t.Errorf("got the reason %q, want the database's", reason)
		}
		for try := 2; try <= 10; try++ {
			if done, err := f.Relay(t.Context(), relayOptions); err != nil || len(done.Failed) > 0 {
				t.Errorf("try %d comes too early: %+v, %v", try, done, err)
			}
			must(t, db, s.Rebind("UPDATE rollcall_outbox SET due = due - $1"), time.Hour.Milliseconds())
			if done, err := f.Relay(t.Context(), relayOptions); err != nil || done.Failed["database"] != 1 {
				t.Errorf("try %d: got %+v, %v", try, done, err)
			}
		}
		if o, err := f.Waiting(t.Context()); err != nil || o != (feed.Outbox{Failed: 1}) {
			t.Errorf("got %+v, %v, want one that was given up", o, err)
		}
		must(t, db, "DROP TRIGGER poison"+map[sqlstore.Dialect]string{sqlstore.Postgres: " ON rollcall_items"}[k.dialect])
		must(t, db, "UPDATE rollcall_outbox SET tries = 0, due = 0 WHERE due IS NULL") // as the package's doc has it
		if done := relayAll(t, f); done.Moved != 1 {
			t.Errorf("got %+v, want one moved", done)
		}
	})
}

// While a message goes to very many users, others find the file of SQLite free now and then
// (rule F10). The other writer does not wait, so it counts how often.
func TestRelayLeavesTimeToOtherWriters(t *testing.T) {
	dsn := sqlstore.SQLiteDSN(filepath.Join(t.TempDir(), "feeds.db"))
	k := kind{"SQLite", sqlstore.SQLite, "sqlite", func(testing.TB) string { return dsn }}
	s, _ := migrated(t, k)
	f := s.Feeds()
	to := make([]presence.UserID, 10_000)
	for i := range to {
		to[i] = presence.UserID(fmt.Sprint("user-", i))
	}
	noError(t, f.Send(t.Context(), feed.Message{To: to, Text: "to all"}))
	other := open(t, k, strings.Replace(dsn, "busy_timeout(5000)", "busy_timeout(0)", 1))
	must(t, other, "CREATE TABLE others (n integer)")
	done := make(chan error, 1)
	go func() {
		for {
			relayed, err := f.Relay(t.Context(), relayOptions)
			if err != nil || !relayed.More {
				done <- err
				return
			}
		}
	}()
	tries, written := 0, 0
	for {
		select {
		case err := <-done:
			noError(t, err)
			if t.Logf("the file was free for %d of %d writes", written, tries); written < tries/12 || tries == 0 {
				t.Error("want a twelfth at least")
			}
			return
		case <-time.After(2 * time.Millisecond):
		}
		tries++
		if _, err := other.ExecContext(t.Context(), "INSERT INTO others VALUES (1)"); err == nil {
			written++
		}
	}
}

// A relay returns at once while another one is at work. SQLite's waits: it has one writer.
func TestRelayWhileAnotherIsAtWork(t *testing.T) {
	for _, k := range kinds() {
		if k.dialect != sqlstore.Postgres {
			continue
		}
		s, db := migrated(t, k)
		f := s.Feeds()
		noError(t, f.Send(t.Context(), feed.Message{To: []presence.UserID{"alice"}, Text: "one"}))
		tx, err := db.BeginTx(t.Context(), nil)
		noError(t, err)
		defer tx.Rollback()
		if _, err := tx.ExecContext(t.Context(), s.Text("relay_turn"), ""); err != nil {
			t.Fatal(err)
		}
		if done, err := f.Relay(t.Context(), relayOptions); err != nil || !done.Busy || done.Moved != 0 {
			t.Errorf("got %+v, %v, want busy", done, err)
		}
		noError(t, f.Send(t.Context(), feed.Message{Tenant: "other", To: []presence.UserID{"alice"}, Text: "one"}))
		done, err := f.Relay(t.Context(), relayOptions)
		if err != nil || done.Busy || !done.More || done.Moved != 1 || done.Changed[0].Name != "other\x1dinbox:alice" {
			t.Errorf("while one tenant is busy: got %+v, %v, want another one's message moved, and more to do", done, err)
		}
		if done, err := f.Relay(t.Context(), relayOptions); err != nil || !done.Busy || done.More {
			t.Errorf("got %+v, %v, want busy", done, err)
		}
		noError(t, tx.Rollback())
		if done := relayAll(t, f); done.Moved != 1 {
			t.Errorf("got %+v, want one moved", done)
		}
	}
}

// A wrong message sends none of those beside it.
func TestSendIsAllOrNothing(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		s, db := migrated(t, k)
		err := s.Feeds().Send(t.Context(), feed.Message{To: []presence.UserID{"alice"}, Text: "one"}, feed.Message{Text: "to nobody"})
		if !errors.Is(err, feed.ErrInvalidMessage) {
			t.Errorf("got %v, want %v", err, feed.ErrInvalidMessage)
		}
		many := make([]feed.Message, 250) // three statements
		for i := range many {
			many[i] = feed.Message{To: []presence.UserID{"alice"}, Text: "one"}
		}
		must(t, db, map[sqlstore.Dialect]string{
			sqlstore.SQLite:   "CREATE TRIGGER full BEFORE INSERT ON rollcall_outbox WHEN (SELECT count(*) FROM rollcall_outbox) >= 150 BEGIN SELECT RAISE(ABORT, 'refused'); END",
			sqlstore.Postgres: "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF (SELECT count(*) FROM rollcall_outbox) >= 150 THEN RAISE EXCEPTION 'refused'; END IF; RETURN new; END $$; CREATE TRIGGER refuse BEFORE INSERT ON rollcall_outbox FOR EACH ROW EXECUTE FUNCTION refuse()",
		}[k.dialect])
		if err := s.Feeds().Send(t.Context(), many...); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("got %v, want the database's error", err)
		}
		if got := one[int](t, db, "SELECT count(*) FROM rollcall_outbox"); got != 0 {
			t.Errorf("got %d rows, want none", got)
		}
	})
}
