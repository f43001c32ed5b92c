package sqlstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// A database of before has all its rows afterwards, those of tenants too, and serves on.
func TestMigrationToTenants(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		db := open(t, k, k.dsn(t))
		s := newStore(t, db, sqlstore.Config{Dialect: k.dialect})
		if err := s.MigrateTo(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		must(t, db, `INSERT INTO rollcall_outbox (id, message) VALUES ('one', '{"to":["alice"],"text":"one"}')`)
		must(t, db, `INSERT INTO rollcall_outbox (id, message, tenant) VALUES ('two', '{"to":["alice"],"text":"two"}', 'acme')`)
		must(t, db, `INSERT INTO rollcall_outbox (id, message, tenant) VALUES ('three', '{"to":["alice"],"text":"three"}', 'Acme Inc.')`) // of a Config.Tenant that is none any more
		must(t, db, `INSERT INTO rollcall_outbox (id, message, bulk, at, due, tries, error) VALUES ('bad', 'no', 1, 5, NULL, 10, 'why')`)
		must(t, db, `INSERT INTO rollcall_feeds (feed, born, rev, pos, unread, unseen, items, mail_at) VALUES ('inbox:bob', 7, 3, 2, 1, 1, 2, 1)`)
		must(t, db, `INSERT INTO rollcall_items (feed, pos, rev, id, type, at, text, mail, state) VALUES ('inbox:bob', 1, 1, 'a', 'message', 1, 'read', 1, 1), ('inbox:bob', 2, 3, 'b', 'message', 1, 'unread', 1, 0)`)
		must(t, db, `INSERT INTO rollcall_people (user_id, seen, text) VALUES ('bob', 1000, 'hello')`)
		must(t, db, `INSERT INTO rollcall_contacts (user_id, other) VALUES ('bob', 'alice')`)
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := one[int](t, db, "SELECT count(*) FROM rollcall_outbox WHERE bulk = 1 AND at = 5 AND due IS NULL AND tries = 10 AND error = 'why' AND id = 'bad'"); got != 1 {
			t.Errorf("got %d rows as the one that was given up, want 1", got)
		}
		f := s.Feeds()
		if done := relayAll(t, f); done.Moved != 2 {
			t.Errorf("got %+v, want two messages moved", done)
		}
		if why := one[string](t, db, "SELECT error FROM rollcall_outbox WHERE id = 'three'"); why == "" {
			t.Error("a row of a tenant that is not valid says nothing")
		}
		for name, unread := range map[feed.Name]int{"inbox:alice": 1, "acme\x1dinbox:alice": 1, "inbox:bob": 1} {
			if h := head(t, f, name); h.Unread != unread {
				t.Errorf("%q: got %+v, want %d unread", name, h, unread)
			}
		}
		due, err := f.Due(t.Context(), 10, time.Minute)
		if err != nil || len(due) != 1 || due[0].Tenant != "" || due[0].User != "bob" || len(due[0].Items) != 1 {
			t.Errorf("got %+v, %v, want bob's digest", due, err)
		}
		if got, err := s.People().Contacts(t.Context(), "bob", 5); err != nil || len(got) != 1 || got[0] != "alice" {
			t.Errorf("got %q, %v, want alice", got, err)
		}
		if seen, err := s.People().LastSeen(t.Context(), "bob"); err != nil || seen[0].Settings.Text != "hello" || seen[0].At.IsZero() {
			t.Errorf("got %+v, %v, want what was kept of bob", seen, err)
		}
	})
}

// Of 450 tenants with a message each, and 300 whose messages wait, every one gets its own (rules F1, T3).
func TestRelayOfManyTenants(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		s, db := migrated(t, k)
		f := s.Feeds()
		var ms []feed.Message
		for i := range 450 {
			ms = append(ms, feed.Message{Tenant: fmt.Sprintf("t-%d", i), To: []presence.UserID{"alice"}, ID: "m", Text: "one"})
		}
		if err := f.Send(t.Context(), ms...); err != nil {
			t.Fatal(err)
		}
		for i := range 300 {
			must(t, db, `INSERT INTO rollcall_outbox (id, message, tenant, due) VALUES ('later', '{"to":["alice"],"text":"later"}', $1, 99999999999999)`, fmt.Sprintf("t-%d-later", i))
		}
		for calls := 1; ; calls++ {
			done, err := f.Relay(t.Context(), relayOptions)
			if err != nil || calls > 6 {
				t.Fatalf("call %d: got %+v, %v, want at most 100 rows a call", calls, done, err)
			}
			if !done.More {
				break
			}
		}
		if got := one[int](t, db, "SELECT count(*) FROM rollcall_feeds WHERE feed = 'inbox:alice' AND unread = 1"); got != 450 {
			t.Errorf("got %d inboxes with a message, want 450", got)
		}
		if o, err := f.Waiting(t.Context()); err != nil || o.Waiting != 300 {
			t.Errorf("got %+v, %v, want 300 rows that wait", o, err)
		}
	})
}

// Where a batch fails its rows are tried one by one, each of its own tenant (rules F1, T3).
func TestRowsOfTenantsOneByOne(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		s, db := migrated(t, k)
		must(t, db, map[sqlstore.Dialect]string{
			sqlstore.SQLite:   "CREATE TRIGGER poison BEFORE INSERT ON rollcall_items WHEN NEW.text = 'poison' BEGIN SELECT RAISE(ABORT, 'refused'); END",
			sqlstore.Postgres: "ALTER TABLE rollcall_items ADD CHECK (text <> 'poison')",
		}[k.dialect])
		for _, tenant := range []string{"acme", "globex", ""} {
			must(t, db, `INSERT INTO rollcall_outbox (id, message, tenant) VALUES ('one', '{"to":["alice"],"id":"m`+tenant+`","text":"of `+tenant+`"}', $1)`, tenant)
			must(t, db, `INSERT INTO rollcall_outbox (id, message, tenant) VALUES ('two', '{"to":["alice"],"text":"poison"}', $1)`, tenant)
		}
		f := s.Feeds()
		relayAll(t, f)
		for _, tenant := range []string{"acme", "globex", ""} {
			_, items, _, err := f.Page(t.Context(), feed.Inbox("alice").In(tenant), 0, 10)
			if err != nil || len(items) != 1 || items[0].Text != "of "+tenant {
				t.Errorf("tenant %q: got %+v, %v, want its own message", tenant, items, err)
			}
		}
		if got := one[int](t, db, "SELECT count(*) FROM rollcall_outbox WHERE id = 'two' AND tries >= 1"); got != 3 {
			t.Errorf("got %d rows that wait after a try, want 3", got)
		}
	})
}

// T3: what is said of a user of another tenant is refused, and a list has ids of inside.
func TestContactsOfTenants(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		p, ctx := people(t, k), t.Context()
		alice := presence.UserID("alice").In("acme")
		for _, other := range []presence.UserID{"bob", "globex\x1dbob", "\x1dbob", "acme\x1d", "acme\x1dglobex\x1dbob", "ACME\x1dbob", alice} {
			for what, err := range map[string]error{"AddContact": p.AddContact(ctx, alice, other), "Block": p.Block(ctx, alice, other)} {
				if !errors.Is(err, presence.ErrInvalidUser) {
					t.Errorf("%s of %q: got %v, want ErrInvalidUser", what, other, err)
				}
			}
		}
		if err := errors.Join(p.AddContact(ctx, alice, "acme\x1dbob"), p.Block(ctx, alice, "acme\x1dcarol"), p.AddContact(ctx, "alice", "dave")); err != nil {
			t.Fatal(err)
		}
		list, err := p.List(ctx, alice)
		if err != nil || len(list) != 2 || list[0].User != "acme\x1dbob" || list[1].User != "acme\x1dcarol" {
			t.Errorf("got %+v, %v, want bob and carol of acme", list, err)
		}
		if err := p.Forget(ctx, alice); err != nil {
			t.Fatal(err)
		}
		if list, err := p.List(ctx, "alice"); err != nil || len(list) != 1 {
			t.Errorf("the other tenant's list: got %+v, %v, want dave", list, err)
		}
	})
}
