package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
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
	tracker, err := presence.New(memstore.New(), presence.Config{Directory: people})
	if err != nil {
		log.Fatal(err)
	}
	defer tracker.Close(ctx)

	// Alice is seen by her contacts, of whom Bob is one.
	if err := people.AddContact(ctx, "alice", "bob"); err != nil {
		log.Fatal(err)
	}
	if err := tracker.RelationsChanged(ctx, "alice"); err != nil {
		log.Fatal(err)
	}
	if err := tracker.SetSettings(ctx, "alice", presence.Settings{Online: presence.Contacts}); err != nil {
		log.Fatal(err)
	}
	if err := people.Saw(ctx, map[presence.UserID]time.Time{"alice": time.Now()}); err != nil {
		log.Fatal(err)
	}

	for _, viewer := range []presence.UserID{"bob", "mallory"} {
		persons, err := tracker.People(ctx, viewer, "alice")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s knows when alice was last seen: %t\n", viewer, !persons[0].LastSeen.IsZero())
	}
	// Output:
	// bob knows when alice was last seen: true
	// mallory knows when alice was last seen: false
}
