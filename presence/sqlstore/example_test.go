package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A site whose people are in SQLite: here in memory, else by sqlstore.SQLiteDSN("people.db").
func Example() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", sqlstore.SQLiteMemoryDSN("example")) // import _ "modernc.org/sqlite"
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	store, err := sqlstore.New(db, sqlstore.Config{Dialect: sqlstore.SQLite})
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	people := store.People()
	tracker, err := track.New(memstore.New(), track.Config{Directory: people})
	if err != nil {
		log.Fatal(err)
	}
	defer tracker.Close(ctx)

	// Alice is seen by her contacts, of whom Bob is one.
	if err := people.AddContact(ctx, "alice", "bob"); err != nil {
		log.Fatal(err)
	}
	if err := tracker.People().RelationsChanged(ctx, "alice"); err != nil {
		log.Fatal(err)
	}
	err = tracker.People().ChangeSettings(ctx, "alice", func(s *presence.Settings) error {
		s.Online = presence.Contacts
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := people.Saw(ctx, map[presence.UserID]time.Time{"alice": time.Now()}); err != nil {
		log.Fatal(err)
	}

	for _, viewer := range []presence.UserID{"bob", "mallory"} {
		persons, err := tracker.People().Find(ctx, viewer, "alice")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s knows when alice was last seen: %t\n", viewer, !persons[0].LastSeen.IsZero())
	}
	// Output:
	// bob knows when alice was last seen: true
	// mallory knows when alice was last seen: false
}

// A reply and what it tells people are one transaction: either both are there, or none is.
func ExampleFeeds_SendTx() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", sqlstore.SQLiteMemoryDSN("example of SendTx"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	store, err := sqlstore.New(db, sqlstore.Config{Dialect: sqlstore.SQLite})
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	feeds := store.Feeds()
	if _, err := db.ExecContext(ctx, "CREATE TABLE posts (thread integer, text text)"); err != nil {
		log.Fatal(err)
	}

	reply := func(text string, keep bool) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // does nothing after Commit
		if _, err := tx.ExecContext(ctx, "INSERT INTO posts (thread, text) VALUES (1, ?)", text); err != nil {
			return err
		}
		err = feeds.SendTx(ctx, tx, feed.Message{
			To: []presence.UserID{"alice", "carol"}, From: "bob", Name: "Bob", Type: "reply",
			About: "thread:1", Group: "replies", Text: "{actors} replied", URL: "/threads/1", Mail: true,
		})
		if err != nil || !keep {
			return err
		}
		return tx.Commit() // then keeper.Kick()
	}
	for _, err := range []error{reply("Hello", true), reply("Never said", false)} {
		if err != nil {
			log.Fatal(err)
		}
	}

	// A feed.Keeper does this once a second, and at each Kick.
	if _, err := feeds.Relay(ctx, feed.RelayOptions{}); err != nil {
		log.Fatal(err)
	}
	heads, err := feeds.Heads(ctx, feed.Inbox("alice"), feed.Inbox("bob"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("unread:", heads[0].Unread, heads[1].Unread)
	// Output: unread: 1 0
}

// Drivers and libraries with an Exec of their own take three lines.
func ExampleExecFunc() {
	type pgxTx interface { // a part of pgx.Tx
		Exec(ctx context.Context, query string, args ...any) (tag any, err error)
	}
	var (
		feeds *sqlstore.Feeds
		tx    pgxTx
	)
	notify := func(ctx context.Context) error {
		return feeds.SendTx(ctx, sqlstore.ExecFunc(func(ctx context.Context, query string, args ...any) error {
			_, err := tx.Exec(ctx, query, args...)
			return err
		}), feed.Message{To: []presence.UserID{"alice"}, Text: "Your report is ready", URL: "/reports/7"})
	}
	_ = notify
}
