package rollcall_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/internal/sqlcount"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A site at rest makes at most one statement in five seconds, with a page open. A message of another program
// is shown within two seconds all the same.
func TestSiteRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dsn := sqlstore.SQLiteDSN(filepath.Join(t.TempDir(), "site.db"))
		db, count := sqlcount.Open(t, "sqlite", dsn)
		other, err := sql.Open("sqlite", dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		store, err := sqlstore.New(db, sqlstore.Config{Dialect: sqlstore.SQLite})
		if err != nil {
			t.Fatal(err)
		}
		site, _ := newSite(t, rollcall.Config{SQL: store, Parts: rollcall.Parts{Feeds: feed.Config{Check: 2 * time.Second}}})
		page, err := site.Tracker().Connect(t.Context(), track.ConnectOptions{
			Visitor: presence.Visitor{User: presence.User{ID: "alice"}}, Topics: []presence.Topic{presence.Site, "inbox"},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer page.Close()
		time.Sleep(5 * time.Minute) // until it rests
		count.Take()
		const rest = 20 * time.Minute
		time.Sleep(rest)
		got := count.Take()
		if most := int(rest / (5 * time.Second)); len(got) > most {
			t.Errorf("got %d statements in %v, want %d at most:\n%s", len(got), rest, most, got)
		}
		if _, err := other.ExecContext(t.Context(), `INSERT INTO rollcall_outbox (id, message) VALUES ('1', '{"to":["alice"],"type":"reply","text":"hello"}')`); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		head, err := site.Feeds().Head(t.Context(), "inbox:alice") // what the page knows
		if err != nil || head.Unread != 1 {
			t.Errorf("got %+v and error %v, want the message", head, err)
		}
	})
}
